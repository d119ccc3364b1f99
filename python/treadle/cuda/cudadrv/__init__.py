"""The names under which numba.cuda has its lower half, as far as programs use them: `driver`, `devicearray`, `devices`, `error`, `runtime`."""

from . import devicearray, devices, driver, error, runtime

__all__ = ["devicearray", "devices", "driver", "error", "runtime"]
