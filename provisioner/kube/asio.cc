// Asio's code that is no template: compiled here, and only declared everywhere else.
#include <boost/asio/impl/src.hpp>
