/* The C part of the PJRT plugin: jaxlib calls it, and it calls the slots written in Python.
 *
 * It is in C because jaxlib calls slots in situations where Python code would fail: inside deallocations while a Python
 * exception is pending, between two bytecodes where a signal handler may raise, and while the interpreter shuts down.
 * In addition, the process ends when one of many slots fails. Therefore:
 *
 * - A handle is a Cell. The cell contains the answers to jaxlib's queries as bytes, which Python prepares when the cell
 *   is created. Answering copies bytes and runs no Python.
 * - Destroying a cell needs no GIL: the cell joins a list, which the next call into Python or the main thread empties.
 * - Where Python runs, a pending exception is saved and restored, and a raised exception becomes a PJRT_Error. An
 *   exception that a signal handler raised is kept, and is raised in the main thread after the slot has finished.
 * - After close(), which runs at exit, no slot calls Python. Queries still answer; all other slots fail.
 *
 * The code uses the limited API of Python 3.11, so that one binary serves all later versions.
 */
#define Py_LIMITED_API 0x030B0000
#include <Python.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CAPACITY 200      /* slots; the API of version 0.114 has 138 */
#define HEAD 16           /* bytes of struct_size and extension_start, the first fields of all arguments */
#define AFTER_HANDLE 24   /* offset of the field after the handle */
#define MOST_INTERRUPTS 10000 /* calls of a helper that signals interrupt */
#define MOST_RUNS 8            /* calls of a slot that signals interrupt */

enum { INVALID_ARGUMENT = 3, UNIMPLEMENTED = 12, INTERNAL = 13, UNAVAILABLE = 14 };
enum { ANSWERED_BY_NOBODY, ANSWERED_BY_HANDLE, ANSWERED_BY_PLUGIN };

typedef struct {
    size_t size;
    void *extensions;
    void *handle;
} Args;

/* Handles ----------------------------------------------------------------------------------------------------------*/

typedef struct UserData {
    const void *key;
    void *data;
    struct UserData *next;
} UserData;

typedef struct Cell {
    const void *vtable;         /* a PJRT_Memory must start with a vtable */
    struct Cell *next;          /* next cell in the list of cells to free */
    struct Cell *before, *after; /* neighbours in the ring of handles; NULL in a husk */
    _Atomic(PyObject *) object; /* the Python object that slots work with */
    PyObject *answers;          /* bytes: CAPACITY + 1 offsets of 16 bits, then the answers */
    void *data;                 /* host address of a buffer's elements; NULL if Python knows where they are */
    atomic_long references;     /* the handle itself, and external references to the elements */
    atomic_bool deleted;
    _Atomic(UserData *) user_data;
} Cell;

static Cell handles = {.before = &handles, .after = &handles}; /* the ring of handles, guarded by the GIL */
static _Atomic(Cell *) retired;
static atomic_bool closed;
static atomic_int parked;
static pthread_t closing_thread;

/* Frees the cells that were destroyed since the last call. The caller holds the GIL. */
static int drain(void *unused)
{
    (void)unused;
    if (atomic_load(&closed) || atomic_load(&retired) == NULL)
        return 0;
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    Cell *cell = atomic_exchange(&retired, NULL);
    while (cell != NULL) {
        Cell *next = cell->next;
        if (cell->after != NULL) {
            cell->before->after = cell->after;
            cell->after->before = cell->before;
        }
        Py_XDECREF(atomic_exchange(&cell->object, NULL));
        Py_XDECREF(cell->answers);
        UserData *entry = atomic_load(&cell->user_data);
        while (entry != NULL) {
            UserData *after = entry->next;
            free(entry);
            entry = after;
        }
        free(cell);
        cell = next;
    }
    PyErr_Restore(type, value, trace);
    return 0;
}

/* Adds a cell to the list that drain() frees. It needs no GIL and may run on any thread. */
static void retire(Cell *cell)
{
    if (atomic_load(&closed))
        return;
    Cell *head = atomic_load(&retired);
    do
        cell->next = head;
    while (!atomic_compare_exchange_weak(&retired, &head, cell));
    if (head == NULL)
        Py_AddPendingCall(drain, NULL); /* if the queue is full, the next call into Python drains */
}

static void release(Cell *cell)
{
    if (cell != NULL && atomic_fetch_sub(&cell->references, 1) == 1)
        retire(cell);
}

static void delete_cell(Cell *cell)
{
    if (atomic_exchange(&cell->deleted, true) || atomic_load(&cell->references) > 1)
        return; /* external references keep the elements until the cell is freed */
    Cell *husk = calloc(1, sizeof(Cell));
    if (husk == NULL)
        return;
    atomic_store(&husk->object, atomic_exchange(&cell->object, NULL));
    retire(husk);
}

static void *get_user_data(Cell *cell, const void *key)
{
    for (UserData *entry = atomic_load(&cell->user_data); entry != NULL; entry = entry->next)
        if (entry->key == key)
            return entry->data;
    return NULL;
}

/* User data lives as long as the process, like memories, so its destructor is never called. */
static void set_user_data(Cell *cell, const void *key, void *data, void (*destructor)(void *))
{
    (void)destructor;
    UserData *entry = malloc(sizeof(UserData));
    if (entry == NULL)
        return;
    entry->key = key;
    entry->data = data;
    entry->next = atomic_load(&cell->user_data);
    while (!atomic_compare_exchange_weak(&cell->user_data, &entry->next, entry))
        ;
}

static const struct {
    size_t size;
    void *extensions;
    size_t instance_size;
    void *(*get)(Cell *, const void *);
    void (*set)(Cell *, const void *, void *, void (*)(void *));
} memory_vtable = {40, NULL, 8, get_user_data, set_user_data};

/* Errors -----------------------------------------------------------------------------------------------------------*/

typedef struct {
    const void *vtable;
    int code;
    bool permanent;
    size_t size;
    const char *message;
} Error;

static void error_destroy(Error *error)
{
    if (error != NULL && !error->permanent)
        free(error);
}

static void error_message(const Error *error, const char **message, size_t *size)
{
    *message = error->message;
    *size = error->size;
}

static int error_code(const Error *error) { return error->code; }

static void error_payload(const Error *error, void *visitor, void *argument)
{
    (void)error, (void)visitor, (void)argument;
}

static const struct {
    size_t size, instance_size;
    void *extensions;
    void (*destroy)(Error *);
    void (*message)(const Error *, const char **, size_t *);
    int (*code)(const Error *);
    void (*payload)(const Error *, void *, void *);
} error_vtable = {56, 8, NULL, error_destroy, error_message, error_code, error_payload};

#define PERMANENT(name, code, text) \
    static Error name = {&error_vtable, code, true, sizeof(text) - 1, text}

PERMANENT(shutting_down, UNAVAILABLE, "The Python interpreter is shutting down; the device 'tt' runs nothing more.");
PERMANENT(no_memory, INTERNAL, "The host is out of memory.");
PERMANENT(no_reason, INTERNAL, "A function of the plugin failed, and its error could not be described. Please report it.");
PERMANENT(was_deleted, INVALID_ARGUMENT, "A buffer or executable that was deleted or donated is used again.");

static void *make_error(int code, const char *message, size_t size)
{
    Error *error = malloc(sizeof(Error) + size + 1);
    if (error == NULL)
        return &no_memory;
    *error = (Error){&error_vtable, code >= 1 && code <= 16 ? code : INTERNAL, false, size, (char *)(error + 1)};
    memcpy(error + 1, message, size);
    ((char *)(error + 1))[size] = 0;
    return error;
}

/* Calls into Python ------------------------------------------------------------------------------------------------*/

static PyObject *handlers[CAPACITY];
static const char *names[CAPACITY];
static unsigned char answered_by[CAPACITY];
static PyObject *plugin_answers, *on_error, *find_interrupt, *hold, *let_go, *kept_names;

typedef struct {
    PyGILState_STATE gil;
    PyObject *type, *value, *trace;
} Entry;

static int (*holds_gil)(void);

/* A thread that arrives here while the process exits is parked: without the GIL, Python would end it inside C++ frames.
 * jaxlib calls some slots with the GIL held, which the exiting thread waits for, so the GIL is released first. */
static void park(void)
{
    if (!atomic_load(&closed) || pthread_equal(pthread_self(), closing_thread))
        return;
    if (PyGILState_GetThisThreadState() == NULL)
        return; /* a thread of jaxlib, which jaxlib may join */
    if (holds_gil != NULL && holds_gil())
        PyEval_SaveThread();
    atomic_fetch_add(&parked, 1);
    for (;;)
        pause();
}

static bool enter(Entry *entry)
{
    if (atomic_load(&closed))
        return false;
    entry->gil = PyGILState_Ensure();
    if (atomic_load(&closed)) {
        PyGILState_Release(entry->gil);
        park();
        return false;
    }
    PyErr_Fetch(&entry->type, &entry->value, &entry->trace);
    drain(NULL);
    return true;
}

static void leave(Entry *entry)
{
    PyErr_Restore(entry->type, entry->value, entry->trace);
    PyGILState_Release(entry->gil);
}

/* Raises the exception of a signal handler that ran inside a slot, in the main thread and outside of slots. */
static int raise_kept(void *exception)
{
    PyObject *value = exception;
    PyErr_SetObject((PyObject *)Py_TYPE(value), value);
    Py_DECREF(value);
    return -1;
}

/* Returns the pending exception as one object and clears it. */
static PyObject *take_exception(void)
{
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    if (value != NULL && trace != NULL)
        PyException_SetTraceback(value, trace);
    Py_XDECREF(type);
    Py_XDECREF(trace);
    return value;
}

/* Calls a helper function, again while signal handlers raise in it. The first such exception is kept. */
static PyObject *insist(PyObject *helper, PyObject *argument, PyObject **kept)
{
    for (int tries = 0; tries < MOST_INTERRUPTS; tries++) {
        PyObject *result = PyObject_CallFunctionObjArgs(helper, argument, NULL);
        if (result != NULL)
            return result;
        PyObject *raised = take_exception();
        if (*kept == NULL)
            *kept = raised;
        else
            Py_XDECREF(raised);
    }
    return NULL;
}

static void *error_from(PyObject *exception, PyObject **kept)
{
    PyObject *described = exception == NULL ? NULL : insist(on_error, exception, kept);
    PyObject *code, *message; /* not "y#", which Python 3.13's headers compile wrongly for 3.12 and older */
    void *error = &no_reason;
    if (described != NULL && PyArg_ParseTuple(described, "O!O!", &PyLong_Type, &code, &PyBytes_Type, &message))
        error = make_error((int)PyLong_AsLong(code), PyBytes_AsString(message), (size_t)PyBytes_Size(message));
    PyErr_Clear();
    Py_XDECREF(described);
    return error;
}

/* Calls a slot written in Python. A slot that a signal interrupts is called again while signals wait. Only Execute has
 * effects before it ends: it writes to donated arguments and calls the host functions of the program. Nobody sees that
 * an argument was written twice, because donated arrays are deleted and the main thread raises the handler's exception
 * in the place of the results. The host functions are called again. On failure, NULL is returned and *error is set. */
static PyObject *call(PyObject *handler, PyObject *arguments, void **error)
{
    PyObject *kept = NULL, *result = NULL;
    *error = NULL;
    for (int tries = 0; tries < MOST_RUNS; tries++) {
        PyObject *held = tries > 0 ? insist(hold, NULL, &kept) : NULL;
        result = PyObject_CallObject(handler, arguments);
        PyObject *raised = result == NULL ? take_exception() : NULL;
        if (tries > 0)
            Py_XDECREF(insist(let_go, held, &kept));
        Py_XDECREF(held);
        if (result != NULL)
            break;
        PyObject *interrupt = raised == NULL ? NULL : insist(find_interrupt, raised, &kept);
        if (interrupt == NULL || interrupt == Py_None || tries == MOST_RUNS - 1) {
            *error = error_from(raised, &kept);
            Py_XDECREF(interrupt);
            Py_XDECREF(raised);
            break;
        }
        Py_DECREF(raised);
        if (kept == NULL)
            kept = interrupt;
        else
            Py_DECREF(interrupt);
    }
    if (result == NULL && *error == NULL)
        *error = &no_reason;
    if (kept != NULL) {
        PyException_SetTraceback(kept, Py_None);
        if (Py_AddPendingCall(raise_kept, kept) != 0)
            Py_DECREF(kept);
    }
    return result;
}

/* Slots ------------------------------------------------------------------------------------------------------------*/

static bool answer(int slot, Args *args)
{
    PyObject *answers = NULL;
    size_t start = AFTER_HANDLE;
    if (answered_by[slot] == ANSWERED_BY_PLUGIN) {
        answers = plugin_answers;
        start = HEAD;
    } else if (answered_by[slot] == ANSWERED_BY_HANDLE && args->handle != NULL) {
        answers = ((Cell *)args->handle)->answers;
    }
    if (answers == NULL)
        return false;
    const char *bytes = PyBytes_AsString(answers);
    uint16_t range[2];
    memcpy(range, bytes + sizeof(uint16_t) * (size_t)slot, sizeof(range));
    if (range[0] == range[1] || args->size <= start)
        return false;
    size_t count = range[1] - range[0], room = args->size - start;
    memcpy((char *)args + start, bytes + range[0], count < room ? count : room);
    return true;
}

static void *call_slot(int slot, Args *args)
{
    Entry entry;
    void *error = NULL;
    if (!enter(&entry))
        return &shutting_down;
    PyObject *arguments = Py_BuildValue("(n)", (Py_ssize_t)args);
    if (arguments == NULL) {
        PyErr_Clear();
        error = &no_memory;
    } else {
        Py_XDECREF(call(handlers[slot], arguments, &error));
        Py_DECREF(arguments);
    }
    leave(&entry);
    park();
    return error;
}

static void *unimplemented(int slot)
{
    char message[160];
    const char *name = names[slot] != NULL ? names[slot] : "This function";
    int size = PyOS_snprintf(message, sizeof(message), "%s is not implemented by tt-xla.", name);
    return make_error(UNIMPLEMENTED, message, (size_t)size);
}

/* Slots written in C */

static void *slot_nothing(int slot, Args *args)
{
    (void)slot, (void)args;
    return NULL;
}

static void *slot_error_destroy(int slot, Args *args)
{
    (void)slot;
    error_destroy(args->handle);
    return NULL;
}

static void *slot_error_message(int slot, Args *args)
{
    struct { Args head; const char *message; size_t size; } *asked = (void *)args;
    (void)slot;
    error_message(args->handle, &asked->message, &asked->size);
    return NULL;
}

static void *slot_error_code(int slot, Args *args)
{
    struct { Args head; int code; } *asked = (void *)args;
    (void)slot;
    asked->code = error_code(args->handle);
    return NULL;
}

static char event; /* its address stands for every event that happened; others are errors */

static void *error_of(const void *waited)
{
    const char *message;
    size_t size;
    if (waited == &event)
        return NULL;
    error_message(waited, &message, &size);
    return make_error(error_code(waited), message, size);
}

static void *slot_event_error(int slot, Args *args)
{
    (void)slot;
    return error_of(args->handle);
}

static void *slot_event_destroy(int slot, Args *args)
{
    (void)slot;
    if (args->handle != &event)
        error_destroy(args->handle);
    return NULL;
}

/* Programs of the emulated card run before Execute returns, and whoever asks for the event of a buffer on a card waits. */
static void *slot_event_is_ready(int slot, Args *args)
{
    struct { Args head; bool ready; } *asked = (void *)args;
    (void)slot;
    asked->ready = true;
    return NULL;
}

static void *slot_event_on_ready(int slot, Args *args)
{
    struct { Args head; void (*callback)(void *, void *); void *argument; } *asked = (void *)args;
    (void)slot;
    asked->callback(error_of(args->handle), asked->argument);
    return NULL;
}

static void *slot_ready_event(int slot, Args *args)
{
    struct { Args head; void *event; } *asked = (void *)args;
    void *error = ((Cell *)args->handle)->data == NULL ? call_slot(slot, args) : NULL;
    asked->event = error == NULL ? &event : error;
    return NULL;
}

static void *slot_destroy(int slot, Args *args)
{
    (void)slot;
    release(args->handle);
    return NULL;
}

static void *slot_delete(int slot, Args *args)
{
    (void)slot;
    delete_cell(args->handle);
    return NULL;
}

/* Both handles of an executable share one cell, and jaxlib destroys each of them. */
static void *slot_get_executable(int slot, Args *args)
{
    struct { Args head; void *executable; } *asked = (void *)args;
    (void)slot;
    atomic_fetch_add(&((Cell *)args->handle)->references, 1);
    asked->executable = args->handle;
    return NULL;
}

static void *slot_delete_executable(int slot, Args *args)
{
    (void)slot;
    atomic_store(&((Cell *)args->handle)->deleted, true);
    return NULL;
}

static void *slot_is_deleted(int slot, Args *args)
{
    struct { Args head; bool deleted; } *asked = (void *)args;
    (void)slot;
    asked->deleted = atomic_load(&((Cell *)args->handle)->deleted);
    return NULL;
}

static void *slot_data(int slot, Args *args)
{
    struct { Args head; void *data; } *asked = (void *)args;
    if (atomic_load(&((Cell *)args->handle)->deleted))
        return &was_deleted;
    if (((Cell *)args->handle)->data == NULL)
        return call_slot(slot, args);
    asked->data = ((Cell *)args->handle)->data;
    return NULL;
}

static void *slot_acquire(int slot, Args *args)
{
    (void)slot;
    if (atomic_load(&((Cell *)args->handle)->deleted))
        return &was_deleted;
    atomic_fetch_add(&((Cell *)args->handle)->references, 1);
    return NULL;
}

typedef struct {
    Args head; /* the executable is the handle */
    struct { size_t size; char before[48]; const int64_t *kept; size_t kept_count; } *options;
    Cell *const *const *arguments;
    size_t device_count, argument_count;
    Cell **const *outputs;
    void **events;
} Execution;

static bool is_kept(const Execution *asked, size_t index)
{
    if (asked->options == NULL || asked->options->size < sizeof(*asked->options))
        return false;
    for (size_t i = 0; i < asked->options->kept_count; i++)
        if (asked->options->kept[i] == (int64_t)index)
            return true;
    return false;
}

/* Calls the handler with the executable's object, a tuple of the arguments' objects, and one byte per argument. The byte
 * is 1 if nothing else refers to the argument's memory, so that it may be written; 2 if JAX keeps the argument although
 * the program was compiled with its donation; otherwise 0. The arguments of each device follow those of the device
 * before; the number of devices is passed too if it is not 1. The handler returns the handles of the results, device by
 * device, and the indices of the donated arguments. */
static void *slot_execute(int slot, Args *args)
{
    Execution *asked = (void *)args;
    Entry entry;
    void *error = NULL;
    Cell *executable = args->handle;
    size_t devices = asked->device_count, count = asked->argument_count;
    if (!enter(&entry))
        return &shutting_down;
    PyObject *program = atomic_load(&executable->object);
    PyObject *inputs = PyTuple_New((Py_ssize_t)(devices * count));
    PyObject *states = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(devices * count));
    char *state = states == NULL ? NULL : PyBytes_AsString(states);
    if (program == NULL || atomic_load(&executable->deleted))
        error = &was_deleted;
    for (size_t d = 0; inputs != NULL && d < devices; d++) {
        for (size_t i = 0; i < count; i++) {
            Cell *given = asked->arguments[d][i];
            PyObject *object = atomic_load(&given->object);
            if (object == NULL || atomic_load(&given->deleted)) {
                error = &was_deleted;
                object = Py_None;
            }
            Py_INCREF(object);
            PyTuple_SetItem(inputs, (Py_ssize_t)(d * count + i), object);
            if (state != NULL)
                state[d * count + i] = is_kept(asked, i) ? 2 : atomic_load(&given->references) == 1;
        }
    }
    PyObject *arguments = NULL;
    if (inputs != NULL && state != NULL && error == NULL)
        arguments = devices == 1 ? PyTuple_Pack(3, program, inputs, states)
                                 : Py_BuildValue("(OOOn)", program, inputs, states, (Py_ssize_t)devices);
    PyObject *answer = arguments == NULL ? NULL : call(handlers[slot], arguments, &error);
    PyObject *handles, *donated;
    if (answer != NULL && PyArg_ParseTuple(answer, "O!O!", &PyTuple_Type, &handles, &PyTuple_Type, &donated)) {
        Py_ssize_t results = devices == 0 ? 0 : PyTuple_Size(handles) / (Py_ssize_t)devices;
        for (size_t d = 0; d < devices; d++) {
            for (Py_ssize_t i = 0; i < results; i++)
                asked->outputs[d][i] = PyLong_AsVoidPtr(PyTuple_GetItem(handles, (Py_ssize_t)d * results + i));
            for (Py_ssize_t i = 0; i < PyTuple_Size(donated); i++) {
                size_t index = PyLong_AsSize_t(PyTuple_GetItem(donated, i));
                if (index < count && !is_kept(asked, index))
                    delete_cell(asked->arguments[d][index]);
            }
            if (asked->events != NULL)
                asked->events[d] = &event;
        }
    } else if (error == NULL) {
        PyErr_Clear();
        error = &no_reason;
    }
    Py_XDECREF(answer);
    Py_XDECREF(arguments);
    Py_XDECREF(inputs);
    Py_XDECREF(states);
    leave(&entry);
    park();
    return error;
}

typedef void *(*Native)(int, Args *);

static const struct { const char *name; Native native; } written_here[] = {
    {"PJRT_Error_Destroy", slot_error_destroy},
    {"PJRT_Error_Message", slot_error_message},
    {"PJRT_Error_GetCode", slot_error_code},
    {"PJRT_Error_ForEachPayload", slot_nothing},
    {"PJRT_Plugin_Initialize", slot_nothing},
    {"PJRT_Event_Destroy", slot_event_destroy},
    {"PJRT_Event_IsReady", slot_event_is_ready},
    {"PJRT_Event_Error", slot_event_error},
    {"PJRT_Event_Await", slot_event_error},
    {"PJRT_Event_OnReady", slot_event_on_ready},
    {"PJRT_Client_Destroy", slot_destroy},
    {"PJRT_Executable_Destroy", slot_destroy},
    {"PJRT_LoadedExecutable_Destroy", slot_destroy},
    {"PJRT_LoadedExecutable_GetExecutable", slot_get_executable},
    {"PJRT_LoadedExecutable_Delete", slot_delete_executable},
    {"PJRT_LoadedExecutable_IsDeleted", slot_is_deleted},
    {"PJRT_LoadedExecutable_Execute", slot_execute},
    {"PJRT_Buffer_Destroy", slot_destroy},
    {"PJRT_Buffer_Delete", slot_delete},
    {"PJRT_Buffer_IsDeleted", slot_is_deleted},
    {"PJRT_Buffer_ReadyEvent", slot_ready_event},
    {"PJRT_Buffer_UnsafePointer", slot_data},
    {"PJRT_Buffer_OpaqueDeviceMemoryDataPointer", slot_data},
    {"PJRT_Buffer_IncreaseExternalReferenceCount", slot_acquire},
    {"PJRT_Buffer_DecreaseExternalReferenceCount", slot_destroy},
    {"PJRT_TopologyDescription_Destroy", slot_destroy},
};

static Native natives[CAPACITY];

static void *dispatch(int slot, Args *args)
{
    if (atomic_load(&closed))
        park();
    if (natives[slot] != NULL)
        return natives[slot](slot, args);
    if (answer(slot, args))
        return NULL;
    return handlers[slot] != NULL ? call_slot(slot, args) : unimplemented(slot);
}

#define ONE(n) static void *slot_##n(Args *args) { return dispatch(n - 1000, args); }
#define TEN(n) ONE(n##0) ONE(n##1) ONE(n##2) ONE(n##3) ONE(n##4) ONE(n##5) ONE(n##6) ONE(n##7) ONE(n##8) ONE(n##9)
#define ALL(M) M(100) M(101) M(102) M(103) M(104) M(105) M(106) M(107) M(108) M(109) \
               M(110) M(111) M(112) M(113) M(114) M(115) M(116) M(117) M(118) M(119)
ALL(TEN)
#define ADDRESSES(n) slot_##n##0, slot_##n##1, slot_##n##2, slot_##n##3, slot_##n##4, \
                     slot_##n##5, slot_##n##6, slot_##n##7, slot_##n##8, slot_##n##9,
static void *(*const trampolines[CAPACITY])(Args *) = {ALL(ADDRESSES)};

static void nothing(void *unused) { (void)unused; }

/* The module -------------------------------------------------------------------------------------------------------*/

/* setup(names, handlers, answered_by, plugin_answers, on_error, find_interrupt, hold, let_go) -> addresses of slots */
static PyObject *setup(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *given_names, *given_handlers, *by;
    if (!PyArg_ParseTuple(args, "O!O!O!SOOOO", &PyTuple_Type, &given_names, &PyTuple_Type, &given_handlers,
                          &PyBytes_Type, &by, &plugin_answers, &on_error, &find_interrupt, &hold, &let_go))
        return NULL;
    Py_ssize_t count = PyTuple_Size(given_names);
    if (count > CAPACITY || PyTuple_Size(given_handlers) != count || PyBytes_Size(by) != count)
        return PyErr_Format(PyExc_ValueError, "%zd slots; expected at most %d, as many handlers as names", count, CAPACITY);
    PyObject *addresses = PyTuple_New(count);
    if (addresses == NULL)
        return NULL;
    void *process = dlopen(NULL, RTLD_LAZY);
    if (process != NULL) /* every Python has this function, but the limited API does not */
        holds_gil = (int (*)(void))dlsym(process, "PyGILState_Check");
    PyObject *keep[] = {given_names, plugin_answers, on_error, find_interrupt, hold, let_go};
    for (size_t i = 0; i < sizeof(keep) / sizeof(*keep); i++)
        Py_INCREF(keep[i]);
    kept_names = given_names;
    for (Py_ssize_t slot = 0; slot < count; slot++) {
        PyObject *handler = PyTuple_GetItem(given_handlers, slot);
        names[slot] = PyUnicode_AsUTF8AndSize(PyTuple_GetItem(given_names, slot), NULL);
        if (names[slot] == NULL)
            return NULL;
        Py_INCREF(handler);
        handlers[slot] = handler == Py_None ? NULL : handler;
        answered_by[slot] = (unsigned char)PyBytes_AsString(by)[slot];
        for (size_t i = 0; i < sizeof(written_here) / sizeof(*written_here); i++)
            if (strcmp(written_here[i].name, names[slot]) == 0)
                natives[slot] = written_here[i].native;
        PyTuple_SetItem(addresses, slot, PyLong_FromVoidPtr((void *)trampolines[slot]));
    }
    return addresses;
}

/* new_cell(object, answers, data) -> handle */
static PyObject *new_cell(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *object, *answers;
    Py_ssize_t data;
    if (!PyArg_ParseTuple(args, "OSn", &object, &answers, &data))
        return NULL;
    Cell *cell = calloc(1, sizeof(Cell));
    if (cell == NULL)
        return PyErr_NoMemory();
    Py_INCREF(object);
    Py_INCREF(answers);
    cell->vtable = &memory_vtable;
    atomic_init(&cell->object, object);
    atomic_init(&cell->references, 1);
    cell->answers = answers;
    cell->data = (void *)data;
    cell->before = handles.before;
    cell->after = &handles;
    handles.before = handles.before->after = cell;
    return PyLong_FromVoidPtr(cell);
}

/* object_of(handle) -> the object passed to new_cell */
static PyObject *object_of(PyObject *module, PyObject *handle)
{
    (void)module;
    Cell *cell = PyLong_AsVoidPtr(handle);
    PyObject *object = cell == NULL ? NULL : atomic_load(&cell->object);
    if (object == NULL)
        return PyErr_Occurred() ? NULL : PyErr_Format(PyExc_ValueError, "the handle was deleted");
    Py_INCREF(object);
    return object;
}

/* objects(type) -> the objects of that very type that handles stand for */
static PyObject *objects(PyObject *module, PyObject *type)
{
    (void)module;
    PyObject *found = PyList_New(0);
    for (Cell *cell = handles.after; found != NULL && cell != &handles; cell = cell->after) {
        PyObject *object = atomic_load(&cell->object);
        if (object != NULL && Py_TYPE(object) == (PyTypeObject *)type && PyList_Append(found, object) != 0)
            Py_CLEAR(found);
    }
    return found;
}

/* view(address, size) -> a writable memoryview of host memory */
static PyObject *view(PyObject *module, PyObject *args)
{
    (void)module;
    Py_ssize_t address, size;
    if (!PyArg_ParseTuple(args, "nn", &address, &size))
        return NULL;
    return PyMemoryView_FromMemory((char *)address, size, PyBUF_WRITE);
}

/* capsule(address) -> the capsule of a PJRT_Api for jaxlib */
static PyObject *capsule(PyObject *module, PyObject *address)
{
    (void)module;
    void *api = PyLong_AsVoidPtr(address);
    return api == NULL ? NULL : PyCapsule_New(api, "pjrt_c_api", NULL);
}

/* close(): after this call no slot calls Python. */
static PyObject *close_slots(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    closing_thread = pthread_self();
    atomic_store(&closed, true);
    Py_RETURN_NONE;
}

static PyObject *parked_threads(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    return PyLong_FromLong(atomic_load(&parked));
}

/* GetPjrtApi(): the table, for a program in this process that loads the plugin by the path of this library.
   NULL after an error, which is printed. */
const void *GetPjrtApi(void)
{
    if (!Py_IsInitialized()) {
        return NULL;
    }
    PyGILState_STATE state = PyGILState_Ensure();
    PyObject *module = PyImport_ImportModule("tt_xla.frontends.jax.pjrt.api");
    PyObject *found = module == NULL ? NULL : PyObject_CallMethod(module, "api_capsule", NULL);
    const void *api = found == NULL ? NULL : PyCapsule_GetPointer(found, "pjrt_c_api");
    if (api == NULL) {
        PyErr_Print();
    }
    Py_XDECREF(found);
    Py_XDECREF(module);
    PyGILState_Release(state);
    return api;
}

static PyMethodDef methods[] = {
    {"setup", setup, METH_VARARGS, NULL},
    {"new_cell", new_cell, METH_VARARGS, NULL},
    {"object_of", object_of, METH_O, NULL},
    {"objects", objects, METH_O, NULL},
    {"view", view, METH_VARARGS, NULL},
    {"capsule", capsule, METH_O, NULL},
    {"close", close_slots, METH_NOARGS, NULL},
    {"parked_threads", parked_threads, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_trampoline", "Trampolines of the PJRT slots.", -1, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__trampoline(void)
{
    PyObject *module = PyModule_Create(&definition);
    if (module != NULL) {
        PyModule_AddIntConstant(module, "CAPACITY", CAPACITY);
        PyModule_AddObject(module, "EVENT", PyLong_FromVoidPtr(&event));
        PyModule_AddObject(module, "NOTHING", PyLong_FromVoidPtr((void *)nothing));
    }
    return module;
}
