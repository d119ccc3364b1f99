/* Who has the state: the module, and with it all objects of its classes. Cost: a few loads. */
#include "ext/state.h"

tr_state *tr_ext_state(PyObject *module) {
    return PyModule_GetState(module);
}

tr_state *tr_ext_state_of(PyObject *self) {
    return PyType_GetModuleState(Py_TYPE(self));
}
