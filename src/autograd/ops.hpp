// Every operation on variables.
#pragma once

#include "autograd/add.hpp"
#include "autograd/matmul.hpp"
#include "autograd/relu.hpp"
#include "autograd/sum.hpp"
#include "autograd/views.hpp"
