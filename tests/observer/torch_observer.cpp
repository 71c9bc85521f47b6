// SPDX-License-Identifier: MIT
//
// A second opinion on the torch source: observes the same operators through torch's C++ API and its
// headers, and writes one line for each to PREFIX.PID. Built for one torch, with its own headers
// (see build.sh).
//
//   B thread name overload sequence forward_thread scope [dims,types,strides] [concrete inputs]
//
// separated by tabs. torch.profiler's rules decide what counts as a tensor with sizes, a list, a
// scalar.
#include <ATen/record_function.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <fcntl.h>
#include <unistd.h>

#include <sstream>
#include <string>
#include <vector>

namespace
{

std::string prefix;
thread_local int quiet = 0;

constexpr size_t scalar_list_limit = 30;

template <typename Numbers> std::string list_of(const Numbers &numbers)
{
    std::string text = "[";
    for (size_t i = 0; i < numbers.size(); i++)
        text += (i ? "," : "") + std::to_string(numbers[i]);
    return text + "]";
}

bool has_sizes(const at::Tensor &tensor)
{
    return tensor.defined() && !tensor.is_nested() &&
           !tensor.unsafeGetTensorImpl()->has_symbolic_sizes_strides();
}

struct Input {
    std::string dims = "[]", type, strides = "[]", concrete;
};

// A symbol's text would have to be asked of Python; the source shows it as unknown.
bool is_symbolic(const c10::IValue &value)
{
    return value.isScalar() && !value.isInt() && !value.isDouble() && !value.isBool() &&
           !value.isComplexDouble();
}

std::string text_of(const c10::IValue &value)
{
    std::ostringstream text;
    text << value;
    return text.str();
}

Input tensor_input(const at::Tensor &tensor)
{
    Input input;
    if (!has_sizes(tensor))
        return input;
    input.dims = list_of(tensor.sizes());
    input.type = std::string(c10::scalarTypeToTypeMeta(tensor.scalar_type()).name());
    if (tensor.layout() == at::kStrided)
        input.strides = list_of(tensor.strides());
    return input;
}

Input list_input(const c10::IValue &value)
{
    Input input;
    if (value.isTensorList()) {
        std::string dims, strides;
        for (const at::Tensor &tensor : value.toTensorVector()) {
            if (!has_sizes(tensor))
                return Input();
            Input element = tensor_input(tensor);
            dims += (dims.empty() ? "" : ",") + element.dims;
            strides += (strides.empty() ? "" : ",") + element.strides;
        }
        input.dims = "[" + dims + "]";
        input.strides = "[" + strides + "]";
        input.type = "TensorList";
        return input;
    }
    auto elements = value.toListRef();
    if (elements.size() <= scalar_list_limit && (elements.empty() || elements[0].isScalar())) {
#if SCALAR_LISTS
        input.type = "ScalarList";
#endif
        for (const c10::IValue &element : elements)
            input.concrete += (input.concrete.empty() ? "" : ", ") +
                              (is_symbolic(element) ? "?" : text_of(element));
        input.concrete = "[" + input.concrete + "]";
    }
    return input;
}

Input describe(const c10::IValue &value)
{
    if (value.isTensor())
        return tensor_input(value.toTensor());
    if (value.isList())
        return list_input(value);
    Input input;
    if (value.isScalar()) {
        if (!is_symbolic(value))
            input.concrete = text_of(value);
        input.type = "Scalar";
    }
    return input;
}

std::string overload_of(const at::RecordFunction &record)
{
#if OVERLOAD_NAME
    return record.overload_name();
#else
    auto name = record.operator_name();
    return name ? name->overload_name : "";
#endif
}

void write_line(const std::string &line)
{
    std::string path = prefix + "." + std::to_string(getpid());
    int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (fd >= 0) {
        ssize_t ignored = write(fd, line.data(), line.size());
        (void)ignored;
        close(fd);
    }
}

std::unique_ptr<at::ObserverContext> begin(const at::RecordFunction &record)
{
    if (quiet)
        return nullptr;
    quiet++;
    std::string dims, types, strides, concrete;
    auto inputs = record.inputs();
    for (size_t i = 0; i < inputs.size(); i++) {
        Input input = describe(inputs[i]);
        const char *comma = i ? "," : "";
        dims += comma + input.dims;
        types += comma + ("\"" + input.type + "\"");
        strides += comma + input.strides;
        concrete += comma + ("\"" + input.concrete + "\"");
    }
    std::string overload = overload_of(record);
    std::ostringstream line;
    line << "B\t" << at::RecordFunction::currentThreadId() << "\t" << record.name() << "\t"
         << overload << "\t" << record.seqNr() << "\t" << record.forwardThreadId() << "\t"
         << int(record.scope()) << "\t";
    if (inputs.empty())
        line << "-\t-\n";
    else
        line << "[[" << dims << "],[" << types << "],[" << strides << "]]\t[" << concrete << "]\n";
    write_line(line.str());
    quiet--;
    return nullptr;
}

void end(const at::RecordFunction &, at::ObserverContext *)
{
}

} // namespace

extern "C" void observer_start(const char *path_prefix)
{
    prefix = path_prefix;
    at::addGlobalCallback(at::RecordFunctionCallback(begin, end).needsInputs(true));
}
