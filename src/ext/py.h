/* The only door to Python.h and NumPy's headers. Their inline functions do not compile under our warnings, so
 * the warnings are off while they are read. module.c defines TR_EXT_IMPORTS_NUMPY and fills NumPy's function
 * table. */
#ifndef TR_EXT_PY_H
#define TR_EXT_PY_H

#define PY_SSIZE_T_CLEAN
#ifndef NPY_TARGET_VERSION
#define NPY_TARGET_VERSION    NPY_1_23_API_VERSION
#define NPY_NO_DEPRECATED_API NPY_1_23_API_VERSION
#endif
#define PY_ARRAY_UNIQUE_SYMBOL tr_ext_numpy_api
#define PY_UFUNC_UNIQUE_SYMBOL tr_ext_ufunc_api
#ifndef TR_EXT_IMPORTS_NUMPY
#define NO_IMPORT_ARRAY
#define NO_IMPORT_UFUNC
#endif

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wunused-function"
#include <Python.h>
#include <frameobject.h>
#include <structmember.h>
#include <numpy/arrayobject.h>
#include <numpy/arrayscalars.h>
#include <numpy/ufuncobject.h>
#include <numpy/dtype_api.h>
#pragma GCC diagnostic pop

#endif
