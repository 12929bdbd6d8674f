// The controller's requests, and what it knows of what it ordered.
#pragma once

#include "test/unit/controller/both_machines/decisions.h"
#include "test/unit/controller/both_machines/steps.h"

namespace flexlocal::provisioner::test {

// What a write answers is known at once, as the workers' `put` does.
void apply_write(World& world, const Write& write);
// The request arrives and is answered, or is under way for long. False: it was refused.
bool send(const World& world, const Write& write, const char* what, Steps& steps);
Write order_of(const World& world, unsigned slot, unsigned desired);
// Of the first that is to serve and is not answered.
bool waits_for_answer(const World& world);
// Whether a host has of it what no order names.
bool has_told_copy(const World& world, unsigned slot);

// A pass of ReplacementWorker over a claim that is bound, and what is left of one that has begun.
void add_replacement_steps(const World& world, Silence silence, Steps& steps);
void go_on_replacing(const World& world, Steps& steps);

}  // namespace flexlocal::provisioner::test
