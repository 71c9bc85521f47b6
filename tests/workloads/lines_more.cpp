// SPDX-License-Identifier: MIT
// lines_more: allocates in templates, lambdas, constructors and functions that one file only knows,
// as C++ compilers inline them.
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace
{
struct Own {
    std::vector<int> numbers;
    Own() { numbers.resize(100); }
};

int *helper(size_t count)
{
    return new int[count];
}
} // namespace

namespace outside
{
template <class T> struct Box {
    std::unique_ptr<T> held;
    explicit Box(T value) : held(new T(value)) {}
    void grow(std::vector<T> &into)
    {
        for (int i = 0; i < 300; i++)
            into.push_back(*held);
    }
};

int call(const std::function<int(int)> &function)
{
    return function(3);
}
} // namespace outside

int main(int argc, char **)
{
    std::vector<std::string> words;
    std::map<std::string, std::vector<int>> table;
    std::vector<int> numbers;
    outside::Box<int> box(argc);
    Own own;

    for (int i = 0; i < 50; i++)
        words.emplace_back(std::string(40 + i, 'x'));
    for (const auto &word : words)
        table[word].push_back(argc);
    box.grow(numbers);
    auto lambda = [&](int more) {
        words.push_back(std::string(100, 'y'));
        return more + static_cast<int>(own.numbers.size());
    };
    int *some = helper(100 * argc);
    int sum = outside::call(lambda) + outside::call([&](int count) { return *helper(count) * 0; });
    std::free(std::malloc(10));
    delete[] some;
    return sum == 12345;
}
