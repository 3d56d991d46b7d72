// kiln.hpp - kiln.h for C++17: objects that clean up after themselves, errors
// as exceptions, typed device memory. Header only; links with libkiln.
#ifndef KILN_HPP
#define KILN_HPP

#include <kiln.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace kiln {

class error : public std::runtime_error {
public:
    error(kiln_status s, const kiln_error &e)
        : std::runtime_error(describe(s, e)), status(s), record(e) {}
    kiln_status status;
    kiln_error record;

private:
    static std::string describe(kiln_status s, const kiln_error &e)
    {
        std::string text = e.text[0] ? e.text : kiln_status_name(s);
        if (e.file[0])
            text = std::string(e.file) + ":" + std::to_string(e.line) + ": " +
                   text;
        return text;
    }
};

// A fresh struct of the interface, its size filled in.
template <typename T>
T make()
{
    T x{};
    x.size = sizeof x;
    return x;
}

template <typename F, typename... A>
void check(F f, A... args)
{
    kiln_error e{};
    kiln_status s = f(args..., &e);
    if (s)
        throw error(s, e);
}

struct release {
    void operator()(kiln_context *p) const { kiln_close(p); }
    void operator()(kiln_kernel *p) const { kiln_release(p); }
    void operator()(kiln_device *p) const { kiln_close_device(p); }
    void operator()(kiln_function *p) const { kiln_unload(p); }
};
template <typename T>
using handle = std::unique_ptr<T, release>;

class kernel {
public:
    explicit kernel(kiln_kernel *k) : own(k) {}
    kiln_kernel *get() const { return own.get(); }
    kiln_kernel_info info() const
    {
        auto i = make<kiln_kernel_info>();
        kiln_get_kernel(own.get(), &i);
        return i;
    }
    kiln_plan plan(const kiln_problem &p) const
    {
        kiln_plan plan{};
        check(kiln_make_plan, own.get(), &p, &plan);
        return plan;
    }

private:
    handle<kiln_kernel> own;
};

class context {
public:
    context() : context(make<kiln_options>()) {}
    explicit context(const kiln_options &o)
    {
        kiln_context *x = nullptr;
        check(kiln_open, &o, &x);
        own.reset(x);
    }
    kiln_context *get() const { return own.get(); }
    void add_bundle(const std::string &path)
    {
        check(kiln_add_bundle, own.get(), path.c_str());
    }
    kernel lookup(const kiln_problem &p, const std::string &config = "") const
    {
        kiln_kernel *k = nullptr;
        check(kiln_lookup, own.get(), &p, config.c_str(), &k);
        return kernel(k);
    }
    kernel compile(const kiln_problem &p, const std::string &config = "") const
    {
        kiln_kernel *k = nullptr;
        check(kiln_compile, own.get(), &p, config.c_str(), &k);
        return kernel(k);
    }

private:
    handle<kiln_context> own;
};

class function {
public:
    explicit function(kiln_function *f) : own(f) {}
    void launch(const kiln_plan &plan, const kiln_arguments &args) const
    {
        check(kiln_launch, own.get(), &plan, &args);
    }
    // Microseconds of one of `runs` launches, on a GPU.
    double time(const kiln_plan &plan, const kiln_arguments &args,
                unsigned runs) const
    {
        auto t = make<kiln_timing>();
        t.runs = runs;
        check(kiln_time, own.get(), &plan, &args, &t);
        return t.us;
    }

private:
    handle<kiln_function> own;
};

// n elements on a device that outlives them.
template <typename T>
class buffer {
public:
    buffer(kiln_device *d, size_t n) : device(d), count(n)
    {
        check(kiln_malloc, d, n * sizeof(T), &memory);
    }
    buffer(kiln_device *d, const std::vector<T> &host) : buffer(d, host.size())
    {
        upload(host);
    }
    buffer(buffer &&b) noexcept
        : device(b.device), count(b.count), memory(std::exchange(b.memory, nullptr))
    {
    }
    buffer(const buffer &) = delete;
    buffer &operator=(const buffer &) = delete;
    ~buffer() { kiln_free(device, memory, nullptr); }

    void *get() const { return memory; }
    size_t size() const { return count; }
    void upload(const std::vector<T> &host)
    {
        if (host.size() > count)
            throw std::length_error("the buffer is shorter than the data");
        check(kiln_upload, device, memory,
              static_cast<const void *>(host.data()), host.size() * sizeof(T));
    }
    std::vector<T> download() const
    {
        std::vector<T> host(count);
        check(kiln_download, device, static_cast<void *>(host.data()),
              static_cast<const void *>(memory), count * sizeof(T));
        return host;
    }

private:
    kiln_device *device;
    size_t count;
    void *memory = nullptr;
};

// The context must outlive the device.
class device {
public:
    device(const context &x, const std::string &name)
    {
        kiln_device *d = nullptr;
        check(kiln_open_device, x.get(), name.c_str(), &d);
        own.reset(d);
    }
    kiln_device *get() const { return own.get(); }
    kiln_device_info info() const
    {
        auto i = make<kiln_device_info>();
        kiln_get_device(own.get(), &i);
        return i;
    }
    template <typename T>
    buffer<T> alloc(size_t n) const
    {
        return buffer<T>(own.get(), n);
    }
    template <typename T>
    buffer<T> upload(const std::vector<T> &host) const
    {
        return buffer<T>(own.get(), host);
    }
    function load(const kernel &k) const
    {
        kiln_function *f = nullptr;
        check(kiln_load, own.get(), k.get(), &f);
        return function(f);
    }
    void run(const kiln_problem &p, const kiln_arguments &args) const
    {
        check(kiln_run, own.get(), &p, &args);
    }
    void sync(void *stream = nullptr) const
    {
        check(kiln_sync, own.get(), stream);
    }

private:
    handle<kiln_device> own;
};

} // namespace kiln
#endif
