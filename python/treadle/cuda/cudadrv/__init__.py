"""The names under which numba.cuda has its lower half, as far as programs use them: `driver`, `devicearray`, `devices`, `error`, `libs`, `runtime`."""

from . import devicearray, devices, driver, error, libs, runtime

__all__ = ["devicearray", "devices", "driver", "error", "libs", "runtime"]
