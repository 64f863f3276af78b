// A pack's operators over PyTorch's stable ABI (torch >= 2.10): plans are kept by their problem,
// and a call allocates what it writes and launches, without Python. What a plan is pack.py says;
// it is asked for one where none is known. Linked with libtorch alone; the driver is opened.
//
//   T=$(python3 -c 'import os, torch; print(os.path.dirname(torch.__file__))')
//   g++ -O2 -std=c++20 -shared -fPIC -fno-gnu-unique -DUSE_CUDA -DTORCH_TARGET_VERSION=0x020a000000000000
//       -I$T/include native.cpp -o native.so -L$T/lib -ltorch_cpu -ltorch_cuda
#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <torch/csrc/inductor/aoti_torch/c/shim.h>
#include <torch/csrc/stable/c/shim.h>
#include <torch/csrc/stable/library.h>

extern "C" AOTITorchError aoti_torch_get_current_cuda_stream(int32_t device, void** stream);

namespace {

void check(AOTITorchError code, const char* what) {
    if (code) throw std::runtime_error(std::string(what) + " failed");
}
#define CHECKED(call) check(call, #call)

// The driver's interface, as far as a launch needs it.
struct Attribute {
    unsigned id, unused, value[16];
};
struct Config {
    unsigned sizes[7];
    void* stream;
    Attribute* attributes;
    unsigned count;
};
constexpr int kInvalidContext = 201;

struct Driver {
    int (*launch)(const Config*, void*, void**, void**) = nullptr;
    int (*current)(void*) = nullptr;
    int (*copy)(uintptr_t, uintptr_t, size_t, void*) = nullptr;
    int (*capturing)(void*, int*) = nullptr;
    int (*wait)(void*, void*, unsigned) = nullptr;
    int (*record)(void*, void*) = nullptr;
    int (*explain)(int, const char**) = nullptr;

    Driver() {
        void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
        if (!library) throw std::runtime_error("there is no NVIDIA driver: libcuda.so.1 cannot be opened");
        find(library, launch, "cuLaunchKernelEx");
        find(library, current, "cuCtxSetCurrent");
        find(library, copy, "cuMemcpyDtoDAsync_v2");
        find(library, capturing, "cuStreamIsCapturing");
        find(library, wait, "cuStreamWaitEvent");
        find(library, record, "cuEventRecord");
        find(library, explain, "cuGetErrorString");
    }

    template <typename F>
    static void find(void* library, F& function, const char* name) {
        function = reinterpret_cast<F>(dlsym(library, name));
    }
};

const Driver& driver() {
    static const Driver d;
    return d;
}

// One launch: what is passed lies beside it; pointers are filled in at each call.
struct Step {
    void* function;
    unsigned sizes[7];
    std::vector<Attribute> attributes;
    std::vector<int64_t> places, last;
};

struct Output {
    int32_t type;
    std::vector<int64_t> sizes, strides;
};

struct Plan {
    void* context;
    std::vector<int32_t> types; // of each tensor that is read
    std::vector<bool> lasts;    // and whether its second dimension lies last in memory
    std::vector<Output> outputs;
    std::vector<int64_t> workspaces; // their offsets, -1 of one without bytes
    std::vector<int64_t> behind;     // scalars and the words of tensor maps, as if they were pointers
    std::vector<int64_t> maps;       // of each map the place of its first word, and that of the pointer which stands there
    std::vector<int64_t> fills;      // of constant memory: of each a pointer's place, the address and the bytes
    void* done;                      // an event: behind what has read that memory
    int64_t room;
    std::vector<Step> steps;
};

// Reads the numbers that Plan.numbers() of pack.py writes.
struct Reader {
    const int64_t *at, *end;

    int64_t next() {
        if (at == end) throw std::runtime_error("a plan is cut off");
        return *at++;
    }
    std::vector<int64_t> list() {
        std::vector<int64_t> values(static_cast<size_t>(next()));
        for (auto& v : values) v = next();
        return values;
    }
};

// Strides of a dense tensor: as its shape is, or with its second dimension last in memory.
std::vector<int64_t> strides_of(const std::vector<int64_t>& extents, bool last) {
    std::vector<int64_t> strides(extents.size(), 1);
    int64_t step = 1;
    const auto place = [&](size_t axis) {
        strides[axis] = step;
        step *= std::max<int64_t>(extents[axis], 1);
    };
    if (last) place(1);
    for (size_t i = extents.size(); i-- > 0;)
        if (!last || i != 1) place(i);
    return strides;
}

std::shared_ptr<const Plan> read(Reader r, size_t tensors) {
    auto p = std::make_shared<Plan>();
    p->context = reinterpret_cast<void*>(r.next());
    for (size_t i = 0; i < tensors; i++) {
        p->types.push_back(static_cast<int32_t>(r.next()));
        p->lasts.push_back(r.next() != 0);
    }
    p->outputs.resize(static_cast<size_t>(r.next()));
    for (auto& o : p->outputs) {
        o.type = static_cast<int32_t>(r.next());
        const bool last = r.next() != 0;
        o.sizes = r.list();
        o.strides = strides_of(o.sizes, last);
    }
    p->room = r.next();
    p->workspaces = r.list();
    p->behind = r.list();
    p->maps = r.list();
    p->fills = r.list();
    p->done = reinterpret_cast<void*>(r.next());
    p->steps.resize(static_cast<size_t>(r.next()));
    for (auto& s : p->steps) {
        s.function = reinterpret_cast<void*>(r.next());
        for (auto& size : s.sizes) size = static_cast<unsigned>(r.next());
        s.attributes.resize(static_cast<size_t>(r.next()));
        for (auto& a : s.attributes) {
            a = {};
            a.id = static_cast<unsigned>(r.next());
            for (int i = 0; i < 3; i++) a.value[i] = static_cast<unsigned>(r.next());
        }
        s.places = r.list();
        s.last = r.list();
    }
    return p;
}

using Key = std::string; // the bytes of 64-bit integers

std::shared_mutex mutex;
std::unordered_map<Key, std::shared_ptr<const Plan>> plans;
thread_local std::string failure;

std::shared_ptr<const Plan> find(const Key& key) {
    std::shared_lock lock(mutex);
    auto found = plans.find(key);
    return found == plans.end() ? nullptr : found->second;
}

// A tensor's handle, which is given back.
struct Tensor {
    AtenTensorHandle handle = nullptr;

    Tensor() = default;
    explicit Tensor(AtenTensorHandle h) : handle(h) {}
    Tensor(Tensor&& other) noexcept : handle(std::exchange(other.handle, nullptr)) {}
    Tensor& operator=(Tensor&& other) noexcept {
        std::swap(handle, other.handle);
        return *this;
    }
    ~Tensor() {
        if (handle) aoti_torch_delete_tensor_object(handle);
    }

    void* data() const {
        void* p;
        CHECKED(aoti_torch_get_data_ptr(handle, &p));
        return p;
    }
};

Tensor empty(const std::vector<int64_t>& sizes, const std::vector<int64_t>& strides, int32_t type, int32_t device) {
    Tensor t;
    CHECKED(aoti_torch_empty_strided(static_cast<int64_t>(sizes.size()), sizes.data(), strides.data(), type,
                                     aoti_torch_device_type_cuda(), device, &t.handle));
    return t;
}

constexpr uintptr_t kAlignment = 16; // of all tensors, which kernels load vectors from

// Whether a tensor lies with its second dimension last in memory.
bool lies_last(const Tensor& t) {
    int64_t rank, *sizes, *strides;
    CHECKED(aoti_torch_get_dim(t.handle, &rank));
    if (rank < 3) return false;
    CHECKED(aoti_torch_get_sizes(t.handle, &sizes));
    CHECKED(aoti_torch_get_strides(t.handle, &strides));
    const auto dense = strides_of({sizes, sizes + rank}, true);
    for (int64_t i = 0; i < rank; i++)
        if (sizes[i] != 1 && strides[i] != dense[static_cast<size_t>(i)]) return false;
    return true;
}

bool is_contiguous(const Tensor& t) {
    bool contiguous;
    CHECKED(aoti_torch_is_contiguous(t.handle, &contiguous));
    return contiguous;
}

// A copy of a tensor that is dense, in its order, and aligned, as kernels take it; none of one that is.
Tensor dense(const Tensor& t, bool last, int32_t type, int32_t device) {
    if ((last ? lies_last(t) : is_contiguous(t)) && reinterpret_cast<uintptr_t>(t.data()) % kAlignment == 0) return {};
    int64_t rank, *sizes;
    CHECKED(aoti_torch_get_dim(t.handle, &rank));
    CHECKED(aoti_torch_get_sizes(t.handle, &sizes));
    std::vector<int64_t> extents(sizes, sizes + rank), strides = strides_of(extents, last);
    Tensor copy = empty(extents, strides, type, device);
    CHECKED(aoti_torch_copy_(copy.handle, t.handle, 0));
    return copy;
}

// The GPU of a call is the thread's own while it lasts.
struct Guard {
    DeviceGuardHandle handle = nullptr;

    explicit Guard(int32_t device) {
        int32_t now;
        CHECKED(aoti_torch_get_current_device_index(&now));
        if (now != device) CHECKED(aoti_torch_create_device_guard(device, &handle));
    }
    ~Guard() {
        if (handle) aoti_torch_delete_device_guard(handle);
    }
};

void succeed(const char* what, int code) {
    if (code == 0) return;
    const char* text = nullptr;
    if (driver().explain) driver().explain(code, &text);
    throw std::runtime_error(std::string(what) + ": " + (text ? text : "unknown error") + " (" + std::to_string(code) + ")");
}

void launch(const Plan& plan, const Step& step, std::vector<void*>& pointers, void* stream) {
    std::array<void*, 64> taken;
    size_t n = 0;
    if (step.places.size() + 2 > taken.size()) throw std::runtime_error("a kernel takes too many pointers");
    for (int64_t place : step.places) taken[n++] = &pointers[static_cast<size_t>(place)];
    if (!step.last.empty()) { // a struct, and how many elements are written
        taken[n++] = const_cast<int64_t*>(step.last.data());
        taken[n++] = const_cast<int64_t*>(&step.last.back());
    }
    Config c = {{}, stream, const_cast<Attribute*>(step.attributes.data()), static_cast<unsigned>(step.attributes.size())};
    std::memcpy(c.sizes, step.sizes, sizeof c.sizes);
    const Driver& d = driver();
    auto once = [&] { return d.launch(&c, step.function, taken.data(), nullptr); };
    int code = once();
    if (code == kInvalidContext && d.current(plan.context) == 0) code = once(); // this thread has called nothing of CUDA's yet
    succeed("launch", code);
}

void launch_all(const Plan& plan, std::vector<void*>& pointers, void* stream) {
    for (const auto& step : plan.steps) launch(plan, step, pointers, stream);
}

// Copies tensors to constant memory and launches what reads them: one thread at a time.
void fill(const Plan& plan, std::vector<void*>& pointers, void* stream) {
    static std::mutex turn;
    const std::lock_guard lock(turn);
    const Driver& d = driver();
    int captured = 0;
    succeed("cuCtxSetCurrent", d.current(plan.context));
    succeed("cuStreamIsCapturing", d.capturing(stream, &captured));
    if (!captured) succeed("cuStreamWaitEvent", d.wait(stream, plan.done, 0)); // a graph can wait for nothing that is outside of it
    try {
        for (size_t i = 0; i < plan.fills.size(); i += 3) {
            void* from = pointers[static_cast<size_t>(plan.fills[i])];
            succeed("cuMemcpyDtoDAsync", d.copy(static_cast<uintptr_t>(plan.fills[i + 1]), reinterpret_cast<uintptr_t>(from),
                                                static_cast<size_t>(plan.fills[i + 2]), stream));
        }
        launch_all(plan, pointers, stream);
    } catch (...) { // other streams wait for what of it is on this one
        if (!captured) d.record(plan.done, stream);
        throw;
    }
    if (!captured) succeed("cuEventRecord", d.record(plan.done, stream));
}

using Prepare = int (*)(const int64_t* key, int64_t count);

struct Operator {
    int64_t tensors = 0;
    int64_t teller = 0;   // the tensor whose type is the problem's
    int64_t renewed = 0;  // a bit for each tensor that kernels also write
    bool ordered = false; // kernels may take tensors with their second dimension last
    Prepare prepare = nullptr;
};

constexpr size_t kOperators = 128;
std::array<Operator, kOperators> operators;
size_t registered = 0;

// What the dispatcher passes: tensors, of which all but the first may be missing, settings and a mode.
void call(size_t index, StableIValue* stack) {
    const Operator& o = operators[index];
    const size_t count = static_cast<size_t>(o.tensors);
    std::vector<Tensor> tensors(count);
    tensors[0].handle = reinterpret_cast<AtenTensorHandle>(stack[0]);
    for (size_t i = 1; i < count; i++) {
        std::unique_ptr<StableIValue> held(reinterpret_cast<StableIValue*>(stack[i]));
        if (held) tensors[i].handle = reinterpret_cast<AtenTensorHandle>(*held);
    }
    auto settings = reinterpret_cast<StableListHandle>(stack[count]);
    std::unique_ptr<StableListOpaque, AOTITorchError (*)(StableListHandle)> list(settings, torch_delete_list);
    auto mode = reinterpret_cast<StringHandle>(stack[count + 1]);
    std::unique_ptr<StringOpaque, AOTITorchError (*)(StringHandle)> text(mode, torch_delete_string);

    int32_t device, type;
    CHECKED(aoti_torch_get_device_index(tensors[0].handle, &device));
    const Tensor& teller = tensors[static_cast<size_t>(o.teller)];
    if (!teller.handle) throw std::runtime_error("the tensor that tells the type is missing");
    CHECKED(aoti_torch_get_dtype(teller.handle, &type));
    int64_t words[128] = {static_cast<int64_t>(index), device, type};
    words[5] = o.ordered && !is_contiguous(tensors[0]) && lies_last(tensors[0]);
    size_t length, n = 6;
    const char* letters;
    CHECKED(torch_string_length(mode, &length));
    CHECKED(torch_string_c_str(mode, &letters));
    if (length > 16) throw std::runtime_error("there is no such math mode");
    std::memcpy(words + 3, letters, length);
    for (auto& t : tensors) {
        int64_t rank = -1, *sizes = nullptr;
        if (t.handle) {
            int32_t device2;
            CHECKED(aoti_torch_get_device_index(t.handle, &device2));
            if (device2 != device) throw std::runtime_error("all tensors must be on one GPU");
            CHECKED(aoti_torch_get_dim(t.handle, &rank));
            CHECKED(aoti_torch_get_sizes(t.handle, &sizes));
        }
        if (n + 1 + static_cast<size_t>(rank < 0 ? 0 : rank) > std::size(words)) throw std::runtime_error("too many dimensions");
        words[n++] = rank;
        for (int64_t d = 0; d < rank; d++) words[n++] = sizes[d];
    }
    CHECKED(torch_list_size(settings, &length));
    if (n + length > std::size(words)) throw std::runtime_error("too many settings");
    for (size_t i = 0; i < length; i++) {
        StableIValue item;
        CHECKED(torch_list_get_item(settings, i, &item));
        words[n++] = static_cast<int64_t>(item);
    }

    const Key key(reinterpret_cast<const char*>(words), n * sizeof words[0]);
    auto plan = find(key);
    if (!plan) {
        failure.clear();
        const int code = o.prepare(words, static_cast<int64_t>(n));
        plan = find(key);
        if (code || !plan) throw std::runtime_error(failure.empty() ? "the problem cannot be prepared" : failure);
    }
    Guard guard(device);
    std::vector<void*> pointers;
    std::vector<Tensor> copies(count), outputs;
    pointers.reserve(count + plan->outputs.size() + plan->workspaces.size() + plan->behind.size());
    for (size_t i = 0; i < count; i++) {
        if (!tensors[i].handle) {
            pointers.push_back(nullptr);
            continue;
        }
        CHECKED(aoti_torch_get_dtype(tensors[i].handle, &type));
        if (type != plan->types[i]) throw std::runtime_error("the tensor " + std::to_string(i + 1) + " is of another type than kernels take");
        copies[i] = dense(tensors[i], plan->lasts[i], type, device);
        pointers.push_back((copies[i].handle ? copies[i] : tensors[i]).data());
    }
    for (const auto& made : plan->outputs) {
        outputs.push_back(empty(made.sizes, made.strides, made.type, device));
        pointers.push_back(outputs.back().data());
    }
    Tensor kept;
    if (plan->room) kept = empty({plan->room}, {1}, aoti_torch_dtype_uint8(), device);
    for (int64_t place : plan->workspaces) pointers.push_back(place < 0 ? nullptr : static_cast<char*>(kept.data()) + place);
    for (int64_t bits : plan->behind) pointers.push_back(reinterpret_cast<void*>(bits));
    for (size_t i = 0; i < plan->maps.size(); i += 2)
        pointers[static_cast<size_t>(plan->maps[i])] = pointers[static_cast<size_t>(plan->maps[i + 1])];
    void* stream;
    CHECKED(aoti_torch_get_current_cuda_stream(device, &stream));
    (plan->fills.empty() ? launch_all : fill)(*plan, pointers, stream);
    for (size_t i = 0; i < count; i++)
        if (copies[i].handle && o.renewed >> i & 1) CHECKED(aoti_torch_copy_(tensors[i].handle, copies[i].handle, 0));
    for (size_t i = 0; i < outputs.size(); i++) stack[i] = reinterpret_cast<StableIValue>(std::exchange(outputs[i].handle, nullptr));
}

template <size_t I>
void boxed(StableIValue* stack, uint64_t, uint64_t) {
    call(I, stack);
}

template <size_t... I>
constexpr std::array<void (*)(StableIValue*, uint64_t, uint64_t), sizeof...(I)> table(std::index_sequence<I...>) {
    return {boxed<I>...};
}

constexpr auto boxes = table(std::make_index_sequence<kOperators>());

} // namespace

extern "C" {

// Gives an operator that is defined its kernel for GPUs: 0, or 1 if it cannot.
int autotune_operator(const char* space, const char* name, int64_t tensors, int64_t teller, int64_t renewed, int64_t ordered,
                      Prepare prepare) {
    TorchLibraryHandle library;
    if (registered == kOperators || aoti_torch_library_init_impl(space, "CUDA", __FILE__, __LINE__, &library)) return 1;
    operators[registered] = {tensors, teller, renewed, ordered != 0, prepare};
    return torch_library_impl(library, name, boxes[registered++], TORCH_ABI_VERSION) != 0;
}

// Keeps a problem's plan; a plan that cannot be read is told of in the call that asked for it.
void autotune_plan(const int64_t* key, int64_t count, const int64_t* plan, int64_t length) {
    try {
        auto made = read({plan, plan + length}, static_cast<size_t>(operators.at(static_cast<size_t>(key[0])).tensors));
        std::unique_lock lock(mutex);
        plans[Key(reinterpret_cast<const char*>(key), static_cast<size_t>(count) * sizeof *key)] = std::move(made);
    } catch (const std::exception& error) {
        failure = error.what();
    }
}

// Says, from within a prepare, why there is no plan.
void autotune_fail(const char* text) { failure = text; }

// PyTorch's number of a type of elements, by its word; -1 of another.
int autotune_type(const char* word) {
    static const std::unordered_map<std::string, int32_t (*)()> types = {
        {"f32", aoti_torch_dtype_float32}, {"bf16", aoti_torch_dtype_bfloat16}, {"f16", aoti_torch_dtype_float16},
        {"f64", aoti_torch_dtype_float64}, {"f8e4m3", aoti_torch_dtype_float8_e4m3fn}, {"f8e5m2", aoti_torch_dtype_float8_e5m2},
        {"i64", aoti_torch_dtype_int64}, {"i32", aoti_torch_dtype_int32}, {"i16", aoti_torch_dtype_int16},
        {"i8", aoti_torch_dtype_int8}, {"u64", aoti_torch_dtype_uint64}, {"u32", aoti_torch_dtype_uint32},
        {"u16", aoti_torch_dtype_uint16}, {"u8", aoti_torch_dtype_uint8}, {"bool", aoti_torch_dtype_bool},
    };
    const auto found = types.find(word);
    return found == types.end() ? -1 : found->second();
}
}
