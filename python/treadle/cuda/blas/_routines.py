"""The routines of BLAS as methods. Generated from src/libs/blas.def by tools/gen_blas.py; do not edit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._calls import Calls

if TYPE_CHECKING:
    from ._calls import Number, Operand

__all__ = ["Routines"]


class Routines(Calls):
    """The methods of `Blas`: each takes what BLAS's routine of that name does, without the distances between items, which arrays have themselves."""

    def nrm2(self, x: Operand) -> float:
        """The Euclidean norm of ``x``.

        Of float32, float64, complex64, complex128. Reads ``x``.
        """
        return self._call(0, x)  # type: ignore[no-any-return]

    def dot(self, x: Operand, y: Operand) -> Any:
        """The sum of ``x * y``.

        Of float32, float64, complex64, complex128. Reads ``x``, ``y``.
        """
        return self._call(1, x, y)

    def dotc(self, x: Operand, y: Operand) -> Any:
        """The sum of ``conj(x) * y``.

        Of complex64, complex128. Reads ``x``, ``y``.
        """
        return self._call(2, x, y)

    def dotu(self, x: Operand, y: Operand) -> Any:
        """The sum of ``x * y``, of complex numbers.

        Of complex64, complex128. Reads ``x``, ``y``.
        """
        return self._call(3, x, y)

    def scal(self, alpha: Number, x: Operand) -> None:
        """``x = alpha * x``.

        Of float32, float64, complex64, complex128. Writes ``x``.
        """
        self._call(4, alpha, x)

    def axpy(self, alpha: Number, x: Operand, y: Operand) -> None:
        """``y = alpha * x + y``.

        Of float32, float64, complex64, complex128. Reads ``x``; writes ``y``.
        """
        self._call(5, alpha, x, y)

    def amax(self, x: Operand) -> int:
        """Where the first of the largest items of ``x`` is, by ``abs(x.real) + abs(x.imag)``, from 0 on.

        Of float32, float64, complex64, complex128. Reads ``x``.
        """
        return self._call(6, x)  # type: ignore[no-any-return]

    def amin(self, x: Operand) -> int:
        """Where the first of the smallest items of ``x`` is, by ``abs(x.real) + abs(x.imag)``, from 0 on.

        Of float32, float64, complex64, complex128. Reads ``x``.
        """
        return self._call(7, x)  # type: ignore[no-any-return]

    def asum(self, x: Operand) -> float:
        """The sum of ``abs(x.real) + abs(x.imag)``.

        Of float32, float64, complex64, complex128. Reads ``x``.
        """
        return self._call(8, x)  # type: ignore[no-any-return]

    def rot(self, x: Operand, y: Operand, c: Number, s: Number) -> None:
        """A rotation: ``x, y = c * x + s * y, c * y - conj(s) * x``.

        Of float32, float64, complex64, complex128. Writes ``x``, ``y``.
        """
        self._call(9, x, y, c, s)

    def rotg(self, a: Number, b: Number) -> tuple[Any, ...]:
        """The rotation that makes ``b`` 0: ``r, z, c, s``, of which ``r`` is what ``a`` becomes and ``z`` says both of the others (of complex numbers it says nothing).

        Of float32, float64, complex64, complex128.
        """
        return self._call(10, a, b)  # type: ignore[no-any-return]

    def rotm(self, x: Operand, y: Operand, param: Operand) -> None:
        """A modified rotation: ``x, y = h11 * x + h12 * y, h21 * x + h22 * y``, with the five numbers that `rotmg` gives.

        Of float32, float64. Writes ``x``, ``y``.
        """
        self._call(11, x, y, param)

    def rotmg(self, d1: Number, d2: Number, x1: Number, y1: Number) -> Any:
        """The modified rotation that makes ``y1`` 0: an array ``flag, h11, h21, h12, h22``.

        Of float32, float64.
        """
        return self._call(12, d1, d2, x1, y1)

    def gbmv(
        self,
        trans: str,
        m: int,
        n: int,
        kl: int,
        ku: int,
        alpha: Number,
        A: Operand,
        x: Operand,
        beta: Number,
        y: Operand,
    ) -> None:
        """``y = alpha * op(A) @ x + beta * y``, ``A`` a band of ``kl`` diagonals below and ``ku`` above the main one: item ``(i, j)`` is ``A[ku + i - j, j]``.

        Of float32, float64, complex64, complex128. Reads ``A`` ((kl + ku + 1) x n), ``x`` (n, transposed m); writes ``y`` (m, transposed n).
        """
        self._call(13, trans, m, n, kl, ku, alpha, A, x, beta, y)

    def gemv(
        self, trans: str, m: int, n: int, alpha: Number, A: Operand, x: Operand, beta: Number, y: Operand
    ) -> None:
        """``y = alpha * op(A) @ x + beta * y``.

        Of float32, float64, complex64, complex128. Reads ``A`` (m x n), ``x`` (n, transposed m); writes ``y`` (m, transposed n).
        """
        self._call(14, trans, m, n, alpha, A, x, beta, y)

    def trmv(self, uplo: str, trans: str, diag: str | bool, n: int, A: Operand, x: Operand) -> None:
        """``x = op(A) @ x``, ``A`` a triangle.

        Of float32, float64, complex64, complex128. Reads ``A`` (n x n); writes ``x`` (n).
        """
        self._call(15, uplo, trans, diag, n, A, x)

    def trsv(self, uplo: str, trans: str, diag: str | bool, n: int, A: Operand, x: Operand) -> None:
        """Solves ``op(A) @ y = x``, ``A`` a triangle; ``x = y``.

        Of float32, float64, complex64, complex128. Reads ``A`` (n x n); writes ``x`` (n).
        """
        self._call(16, uplo, trans, diag, n, A, x)

    def tbmv(self, uplo: str, trans: str, diag: str | bool, n: int, k: int, A: Operand, x: Operand) -> None:
        """``x = op(A) @ x``, ``A`` a triangle of ``k`` diagonals beside the main one: as a band.

        Of float32, float64, complex64, complex128. Reads ``A`` ((k + 1) x n); writes ``x`` (n).
        """
        self._call(17, uplo, trans, diag, n, k, A, x)

    def tbsv(self, uplo: str, trans: str, diag: str | bool, n: int, k: int, A: Operand, x: Operand) -> None:
        """Solves ``op(A) @ y = x``, ``A`` a triangle as a band; ``x = y``.

        Of float32, float64, complex64, complex128. Reads ``A`` ((k + 1) x n); writes ``x`` (n).
        """
        self._call(18, uplo, trans, diag, n, k, A, x)

    def tpmv(self, uplo: str, trans: str, diag: str | bool, n: int, AP: Operand, x: Operand) -> None:
        """``x = op(A) @ x``, ``A`` a triangle, packed: its columns one behind the other.

        Of float32, float64, complex64, complex128. Reads ``AP`` (n (n + 1) / 2); writes ``x`` (n).
        """
        self._call(19, uplo, trans, diag, n, AP, x)

    def tpsv(self, uplo: str, trans: str, diag: str | bool, n: int, AP: Operand, x: Operand) -> None:
        """Solves ``op(A) @ y = x``, ``A`` a triangle, packed; ``x = y``.

        Of float32, float64, complex64, complex128. Reads ``AP`` (n (n + 1) / 2); writes ``x`` (n).
        """
        self._call(20, uplo, trans, diag, n, AP, x)

    def symv(
        self, uplo: str, n: int, alpha: Number, A: Operand, x: Operand, beta: Number, y: Operand
    ) -> None:
        """``y = alpha * A @ x + beta * y``, ``A`` symmetric: one triangle is read.

        Of float32, float64, complex64, complex128. Reads ``A`` (n x n), ``x`` (n); writes ``y`` (n).
        """
        self._call(21, uplo, n, alpha, A, x, beta, y)

    def hemv(
        self, uplo: str, n: int, alpha: Number, A: Operand, x: Operand, beta: Number, y: Operand
    ) -> None:
        """``y = alpha * A @ x + beta * y``, ``A`` Hermitian: one triangle is read.

        Of complex64, complex128. Reads ``A`` (n x n), ``x`` (n); writes ``y`` (n).
        """
        self._call(22, uplo, n, alpha, A, x, beta, y)

    def sbmv(
        self, uplo: str, n: int, k: int, alpha: Number, A: Operand, x: Operand, beta: Number, y: Operand
    ) -> None:
        """``y = alpha * A @ x + beta * y``, ``A`` symmetric, one triangle as a band.

        Of float32, float64. Reads ``A`` ((k + 1) x n), ``x`` (n); writes ``y`` (n).
        """
        self._call(23, uplo, n, k, alpha, A, x, beta, y)

    def hbmv(
        self, uplo: str, n: int, k: int, alpha: Number, A: Operand, x: Operand, beta: Number, y: Operand
    ) -> None:
        """``y = alpha * A @ x + beta * y``, ``A`` Hermitian, one triangle as a band.

        Of complex64, complex128. Reads ``A`` ((k + 1) x n), ``x`` (n); writes ``y`` (n).
        """
        self._call(24, uplo, n, k, alpha, A, x, beta, y)

    def spmv(
        self, uplo: str, n: int, alpha: Number, AP: Operand, x: Operand, beta: Number, y: Operand
    ) -> None:
        """``y = alpha * A @ x + beta * y``, ``A`` symmetric, one triangle packed.

        Of float32, float64. Reads ``AP`` (n (n + 1) / 2), ``x`` (n); writes ``y`` (n).
        """
        self._call(25, uplo, n, alpha, AP, x, beta, y)

    def hpmv(
        self, uplo: str, n: int, alpha: Number, AP: Operand, x: Operand, beta: Number, y: Operand
    ) -> None:
        """``y = alpha * A @ x + beta * y``, ``A`` Hermitian, one triangle packed.

        Of complex64, complex128. Reads ``AP`` (n (n + 1) / 2), ``x`` (n); writes ``y`` (n).
        """
        self._call(26, uplo, n, alpha, AP, x, beta, y)

    def ger(self, m: int, n: int, alpha: Number, x: Operand, y: Operand, A: Operand) -> None:
        """``A = alpha * outer(x, y) + A``.

        Of float32, float64. Reads ``x`` (m), ``y`` (n); writes ``A`` (m x n).
        """
        self._call(27, m, n, alpha, x, y, A)

    def geru(self, m: int, n: int, alpha: Number, x: Operand, y: Operand, A: Operand) -> None:
        """``A = alpha * outer(x, y) + A``, of complex numbers.

        Of complex64, complex128. Reads ``x`` (m), ``y`` (n); writes ``A`` (m x n).
        """
        self._call(28, m, n, alpha, x, y, A)

    def gerc(self, m: int, n: int, alpha: Number, x: Operand, y: Operand, A: Operand) -> None:
        """``A = alpha * outer(x, conj(y)) + A``.

        Of complex64, complex128. Reads ``x`` (m), ``y`` (n); writes ``A`` (m x n).
        """
        self._call(29, m, n, alpha, x, y, A)

    def syr(self, uplo: str, n: int, alpha: Number, x: Operand, A: Operand) -> None:
        """``A = alpha * outer(x, x) + A``, one triangle.

        Of float32, float64, complex64, complex128. Reads ``x`` (n); writes ``A`` (n x n).
        """
        self._call(30, uplo, n, alpha, x, A)

    def her(self, uplo: str, n: int, alpha: Number, x: Operand, A: Operand) -> None:
        """``A = alpha * outer(x, conj(x)) + A``, one triangle.

        Of complex64, complex128. Reads ``x`` (n); writes ``A`` (n x n).
        """
        self._call(31, uplo, n, alpha, x, A)

    def spr(self, uplo: str, n: int, alpha: Number, x: Operand, AP: Operand) -> None:
        """``A = alpha * outer(x, x) + A``, one triangle, packed.

        Of float32, float64. Reads ``x`` (n); writes ``AP`` (n (n + 1) / 2).
        """
        self._call(32, uplo, n, alpha, x, AP)

    def hpr(self, uplo: str, n: int, alpha: Number, x: Operand, AP: Operand) -> None:
        """``A = alpha * outer(x, conj(x)) + A``, one triangle, packed.

        Of complex64, complex128. Reads ``x`` (n); writes ``AP`` (n (n + 1) / 2).
        """
        self._call(33, uplo, n, alpha, x, AP)

    def syr2(self, uplo: str, n: int, alpha: Number, x: Operand, y: Operand, A: Operand) -> None:
        """``A = alpha * (outer(x, y) + outer(y, x)) + A``, one triangle.

        Of float32, float64, complex64, complex128. Reads ``x`` (n), ``y`` (n); writes ``A`` (n x n).
        """
        self._call(34, uplo, n, alpha, x, y, A)

    def her2(self, uplo: str, n: int, alpha: Number, x: Operand, y: Operand, A: Operand) -> None:
        """``A = alpha * outer(x, conj(y)) + conj(alpha) * outer(y, conj(x)) + A``, one triangle.

        Of complex64, complex128. Reads ``x`` (n), ``y`` (n); writes ``A`` (n x n).
        """
        self._call(35, uplo, n, alpha, x, y, A)

    def spr2(self, uplo: str, n: int, alpha: Number, x: Operand, y: Operand, AP: Operand) -> None:
        """``A = alpha * (outer(x, y) + outer(y, x)) + A``, one triangle, packed.

        Of float32, float64. Reads ``x`` (n), ``y`` (n); writes ``AP`` (n (n + 1) / 2).
        """
        self._call(36, uplo, n, alpha, x, y, AP)

    def hpr2(self, uplo: str, n: int, alpha: Number, x: Operand, y: Operand, AP: Operand) -> None:
        """``A = alpha * outer(x, conj(y)) + conj(alpha) * outer(y, conj(x)) + A``, one triangle, packed.

        Of complex64, complex128. Reads ``x`` (n), ``y`` (n); writes ``AP`` (n (n + 1) / 2).
        """
        self._call(37, uplo, n, alpha, x, y, AP)

    def gemm(
        self,
        transa: str,
        transb: str,
        m: int,
        n: int,
        k: int,
        alpha: Number,
        A: Operand,
        B: Operand,
        beta: Number,
        C: Operand,
    ) -> None:
        """``C = alpha * op(A) @ op(B) + beta * C``.

        Of float32, float64, complex64, complex128. Reads ``A`` (m x k, transposed k x m), ``B`` (k x n, transposed n x k); writes ``C`` (m x n).
        """
        self._call(38, transa, transb, m, n, k, alpha, A, B, beta, C)

    def syrk(
        self, uplo: str, trans: str, n: int, k: int, alpha: Number, A: Operand, beta: Number, C: Operand
    ) -> None:
        """``C = alpha * op(A) @ op(A).T + beta * C``, one triangle.

        Of float32, float64, complex64, complex128. Reads ``A`` (n x k, transposed k x n); writes ``C`` (n x n).
        """
        self._call(39, uplo, trans, n, k, alpha, A, beta, C)

    def herk(
        self, uplo: str, trans: str, n: int, k: int, alpha: Number, A: Operand, beta: Number, C: Operand
    ) -> None:
        """``C = alpha * op(A) @ conj(op(A)).T + beta * C``, one triangle.

        Of complex64, complex128. Reads ``A`` (n x k, transposed k x n); writes ``C`` (n x n).
        """
        self._call(40, uplo, trans, n, k, alpha, A, beta, C)

    def symm(
        self,
        side: str,
        uplo: str,
        m: int,
        n: int,
        alpha: Number,
        A: Operand,
        B: Operand,
        beta: Number,
        C: Operand,
    ) -> None:
        """``C = alpha * A @ B + beta * C``, on the right ``B @ A``; ``A`` symmetric: one triangle is read.

        Of float32, float64, complex64, complex128. Reads ``A`` (m x m, on the right n x n), ``B`` (m x n); writes ``C`` (m x n).
        """
        self._call(41, side, uplo, m, n, alpha, A, B, beta, C)

    def hemm(
        self,
        side: str,
        uplo: str,
        m: int,
        n: int,
        alpha: Number,
        A: Operand,
        B: Operand,
        beta: Number,
        C: Operand,
    ) -> None:
        """``C = alpha * A @ B + beta * C``, on the right ``B @ A``; ``A`` Hermitian: one triangle is read.

        Of complex64, complex128. Reads ``A`` (m x m, on the right n x n), ``B`` (m x n); writes ``C`` (m x n).
        """
        self._call(42, side, uplo, m, n, alpha, A, B, beta, C)

    def trsm(
        self,
        side: str,
        uplo: str,
        trans: str,
        diag: str | bool,
        m: int,
        n: int,
        alpha: Number,
        A: Operand,
        B: Operand,
    ) -> None:
        """Solves ``op(A) @ X = alpha * B``, on the right ``X @ op(A) = alpha * B``, ``A`` a triangle; ``B = X``.

        Of float32, float64, complex64, complex128. Reads ``A`` (m x m, on the right n x n); writes ``B`` (m x n).
        """
        self._call(43, side, uplo, trans, diag, m, n, alpha, A, B)

    def trmm(
        self,
        side: str,
        uplo: str,
        trans: str,
        diag: str | bool,
        m: int,
        n: int,
        alpha: Number,
        A: Operand,
        B: Operand,
        C: Operand,
    ) -> None:
        """``C = alpha * op(A) @ B``, on the right ``B @ op(A)``, ``A`` a triangle; ``C`` may be ``B``.

        Of float32, float64, complex64, complex128. Reads ``A`` (m x m, on the right n x n), ``B`` (m x n); writes ``C`` (m x n).
        """
        self._call(44, side, uplo, trans, diag, m, n, alpha, A, B, C)

    def dgmm(self, side: str, m: int, n: int, A: Operand, x: Operand, C: Operand) -> None:
        """``C = diag(x) @ A``, on the right ``A @ diag(x)``; ``C`` may be ``A``.

        Of float32, float64, complex64, complex128. Reads ``A`` (m x n), ``x`` (m, on the right n); writes ``C`` (m x n).
        """
        self._call(45, side, m, n, A, x, C)

    def geam(
        self,
        transa: str,
        transb: str,
        m: int,
        n: int,
        alpha: Number,
        A: Operand,
        beta: Number,
        B: Operand,
        C: Operand,
    ) -> None:
        """``C = alpha * op(A) + beta * op(B)``; ``C`` may be what is not transposed.

        Of float32, float64, complex64, complex128. Reads ``A`` (m x n, transposed n x m), ``B`` (m x n, transposed n x m); writes ``C`` (m x n).
        """
        self._call(46, transa, transb, m, n, alpha, A, beta, B, C)
