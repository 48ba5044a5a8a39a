/* SPDX-License-Identifier: MIT */
/* Conditional nodes of graphs, and kernels that set conditions. */
#include "cpu/support/api_graph.h"
#include "support/suite.h"

#include <stdlib.h>

CUresult cuGraphConditionalHandleCreate(CUgraphConditionalHandle *out, CUgraph graph,
	CUcontext context, unsigned int initial, unsigned int flags);

/* down: *count -= 1, and the condition is what is left.  set: the condition is *value. */
static const char text[] =
	".version 7.0\n"
	".target sm_75\n"
	".address_size 64\n"
	".extern .func cudaGraphSetConditional(.param .b64 handle, .param .b32 value);\n"
	".visible .entry down(.param .u64 count, .param .u64 condition, .param .u32 less)\n"
	"{\n"
	"	.reg .b32 %r<4>;\n"
	"	.reg .b64 %rd<3>;\n"
	"	ld.param.u64 %rd1, [count];\n"
	"	ld.param.u64 %rd2, [condition];\n"
	"	ld.param.u32 %r3, [less];\n"
	"	ld.u32 %r1, [%rd1];\n"
	"	sub.u32 %r2, %r1, %r3;\n"
	"	st.u32 [%rd1], %r2;\n"
	"	{\n"
	"	.param .b64 p0;\n"
	"	.param .b32 p1;\n"
	"	st.param.b64 [p0], %rd2;\n"
	"	st.param.b32 [p1], %r2;\n"
	"	call.uni cudaGraphSetConditional, (p0, p1);\n"
	"	}\n"
	"	ret;\n"
	"}\n";

static CUmodule condition_module;

static void condition_setup(void)
{
	graph_setup();
	OK(cuModuleLoadData(&condition_module, text));
}

static CUgraphNode add_down(CUgraph graph, const CUgraphNode *from, size_t count, CUdeviceptr where,
	CUgraphConditionalHandle condition, uint32_t less)
{
	void *values[] = {&where, &condition, &less};
	const CUDA_KERNEL_NODE_PARAMS params = {.func = kernel(condition_module, "down"),
		.gridDimX = 1,
		.gridDimY = 1,
		.gridDimZ = 1,
		.blockDimX = 1,
		.blockDimY = 1,
		.blockDimZ = 1,
		.kernelParams = values};
	CUgraphNode node = NULL;
	OK(cuGraphAddKernelNode_v2(&node, graph, from, count, &params));
	return node;
}

static CUgraphNodeParams node_params(CUgraphConditionalHandle condition,
	CUgraphConditionalNodeType type, unsigned size)
{
	return (CUgraphNodeParams){.type = CU_GRAPH_NODE_TYPE_CONDITIONAL,
		.conditional = {.handle = condition, .type = type, .size = size}};
}

static CUgraphConditionalHandle new_condition(CUgraph graph, unsigned initial)
{
	CUgraphConditionalHandle condition = 0;
	OK(cuGraphConditionalHandleCreate(&condition, graph, NULL, initial,
		CU_GRAPH_COND_ASSIGN_DEFAULT));
	return condition;
}

START_TEST(loops_can_be_nested)
{
	CUgraph graph = new_graph();
	CUdeviceptr outer = alloc(4), inner = alloc(4), sum = alloc(4);
	CUgraphConditionalHandle often = new_condition(graph, 1), more = new_condition(graph, 0);
	CUgraphNodeParams params = node_params(often, CU_GRAPH_COND_TYPE_WHILE, 1);
	CUgraphNode node, set, last;
	OK(cuGraphAddNode(&node, graph, NULL, 0, &params));
	CUgraph body = params.conditional.phGraph_out[0];
	set = add_plus(body, NULL, 0, inner, 3);
	set = add_down(body, &set, 1, inner, more, 0);
	params = node_params(more, CU_GRAPH_COND_TYPE_WHILE, 1);
	OK(cuGraphAddNode(&node, body, &set, 1, &params));
	CUgraph within = params.conditional.phGraph_out[0];
	add_down(within, NULL, 0, inner, more, 1);
	add_plus(within, NULL, 0, sum, 1);
	last = add_down(body, &node, 1, outer, often, 1);
	(void)last;
	CUgraphExec exec = new_exec(graph);
	for (uint32_t round = 1; round <= 2; round++) {
		set_word(outer, 4);
		set_word(inner, 0);
		launch_and_wait(exec, NULL);
		ck_assert_int_eq(word_at(sum), round * 12);
		ck_assert_int_eq(word_at(outer), 0);
	}
	release_graph(exec, graph);
}
END_TEST

static void timeout_setup(void)
{
	setenv("KUDZU_CPU_TIMEOUT", "0.05", 1);
	condition_setup();
}

/* With a body that does something, and with an empty one. */
START_TEST(a_loop_without_an_end_runs_out_of_time)
{
	CUgraph graph = new_graph();
	CUdeviceptr sum = alloc(4);
	CUgraphConditionalHandle always = new_condition(graph, 1);
	CUgraphNodeParams params = node_params(always, CU_GRAPH_COND_TYPE_WHILE, 1);
	CUgraphNode node;
	if (driver_lacks("other devices have no limit")) {
		return;
	}
	OK(cuGraphAddNode(&node, graph, NULL, 0, &params));
	if (_i == 0) {
		add_plus(params.conditional.phGraph_out[0], NULL, 0, sum, 1);
	}
	CUgraphExec exec = new_exec(graph);
	OK(cuGraphLaunch(exec, NULL));
	FAILS(LAUNCH_TIMEOUT, cuCtxSynchronize());
	check_log("a loop of a graph ran longer than the 0.05 seconds of KUDZU_CPU_TIMEOUT");
	release_graph(exec, graph);
	reset();
}
END_TEST

START_TEST(bodies_take_few_kinds_of_nodes)
{
	CUgraph graph = new_graph(), clone, child = new_graph();
	CUdeviceptr word = alloc(4);
	CUgraphExec exec, other;
	CUgraphNode node;
	CUgraphConditionalHandle condition = new_condition(graph, 0);
	CUgraphNodeParams params = node_params(condition, CU_GRAPH_COND_TYPE_IF, 1);
	OK(cuGraphAddNode(&node, graph, NULL, 0, &params));
	CUgraph body = params.conditional.phGraph_out[0];
	const CUDA_HOST_NODE_PARAMS host = {(CUhostFn)free, NULL};
	OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
	FAILS(NOT_SUPPORTED, cuGraphInstantiateWithFlags(&other, graph, 0)); /* one at a time */
	OK(cuGraphExecDestroy(exec));
	OK(cuGraphAddHostNode(&node, body, NULL, 0, &host)); /* as NVIDIA's driver: refused later */
	FAILS(INVALID_VALUE, cuGraphInstantiateWithFlags(&exec, graph, 0));
	OK(cuGraphDestroyNode(node));
	OK(cuGraphAddHostNode(&node, child, NULL, 0, &host));
	OK(cuGraphAddChildGraphNode(&node, body, NULL, 0, child));
	FAILS(INVALID_VALUE, cuGraphInstantiateWithFlags(&exec, graph, 0));
	OK(cuGraphDestroyNode(node));
	OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
	OK(cuGraphExecDestroy(exec));
	FAILS(NOT_SUPPORTED, cuGraphAddChildGraphNode(&node, child, NULL, 0, graph));
	FAILS(NOT_SUPPORTED, cuGraphClone(&clone, graph));
	FAILS(INVALID_VALUE, cuGraphInstantiateWithFlags(&exec, body, 0));
	FAILS(INVALID_VALUE, cuGraphDestroy(body));
	FAILS(INVALID_VALUE, cuGraphAddNode(&node, graph, NULL, 0, &params)); /* it is taken */
	params = node_params(new_condition(child, 0), CU_GRAPH_COND_TYPE_IF, 1);
	FAILS(INVALID_VALUE, cuGraphAddNode(&node, graph, NULL, 0, &params)); /* of another graph */
	params = node_params(condition + 1, CU_GRAPH_COND_TYPE_IF, 1);
	FAILS(INVALID_VALUE, cuGraphAddNode(&node, graph, NULL, 0, &params));
	condition = new_condition(graph, 0);
	params = node_params(condition, CU_GRAPH_COND_TYPE_IF, 3);
	FAILS(INVALID_VALUE, cuGraphAddNode(&node, graph, NULL, 0, &params));
	params = node_params(condition, CU_GRAPH_COND_TYPE_WHILE, 2);
	FAILS(INVALID_VALUE, cuGraphAddNode(&node, graph, NULL, 0, &params));
	params = node_params(condition, CU_GRAPH_COND_TYPE_SWITCH, 0);
	FAILS(INVALID_VALUE, cuGraphAddNode(&node, graph, NULL, 0, &params));
	FAILS(INVALID_VALUE, cuGraphConditionalHandleCreate(&condition, graph, NULL, 0, 2));
	add_plus(body, NULL, 0, word, 1);
	exec = new_exec(graph);
	launch_and_wait(exec, NULL);
	ck_assert_int_eq(word_at(word), 0);
	release_graph(exec, graph);
}
END_TEST

/* Without the flag the value of the launch before stays. */
START_TEST(a_condition_without_a_default_keeps_its_value)
{
	CUgraph graph = new_graph();
	CUdeviceptr word = alloc(4), left = alloc(4);
	CUgraphConditionalHandle condition = 0;
	CUgraphNode node;
	OK(cuGraphConditionalHandleCreate(&condition, graph, NULL, 1, 0));
	CUgraphNodeParams params = node_params(condition, CU_GRAPH_COND_TYPE_IF, 1);
	OK(cuGraphAddNode(&node, graph, NULL, 0, &params));
	add_plus(params.conditional.phGraph_out[0], NULL, 0, word, 1);
	add_down(graph, &node, 1, left, condition, 1);
	CUgraphExec exec = new_exec(graph);
	set_word(left, 2);
	for (int i = 0; i < 3; i++) {
		launch_and_wait(exec, NULL);
	}
	ck_assert_int_eq(word_at(word), 2); /* by 1, by 1, by 0 */
	release_graph(exec, graph);
}
END_TEST

START_TEST(a_kernel_that_sets_no_condition_fails)
{
	CUgraph graph = new_graph();
	CUdeviceptr word = alloc(4);
	add_down(graph, NULL, 0, word, 1234, 1);
	CUgraphExec exec = new_exec(graph);
	OK(cuGraphLaunch(exec, NULL));
	FAILS(LAUNCH_FAILED, cuCtxSynchronize());
}
END_TEST

START_TEST(a_node_that_was_not_added_leaves_the_graph_as_it_was)
{
	CUgraph graph = new_graph(), clone = NULL;
	CUgraphNodeParams params = node_params(new_condition(graph, 1), CU_GRAPH_COND_TYPE_IF, 1);
	CUgraphNode node = (CUgraphNode)(void *)graph;
	FAILS(INVALID_VALUE, cuGraphAddNode(&node, graph, &node, 1, &params));
	OK(cuGraphClone(&clone, graph));
	OK(cuGraphDestroy(clone));
	OK(cuGraphAddNode(&node, graph, NULL, 0, &params));
	FAILS(NOT_SUPPORTED, cuGraphClone(&clone, graph));
	OK(cuGraphDestroy(graph));
}
END_TEST

START_TEST(a_child_with_conditions_can_replace_another)
{
	CUgraph graph = new_graph(), empty = new_graph(), child = new_graph(), clone = NULL;
	CUgraphNodeParams inner = node_params(new_condition(child, 1), CU_GRAPH_COND_TYPE_IF, 1);
	CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_GRAPH, .graph = {empty,
		CU_GRAPH_CHILD_GRAPH_OWNERSHIP_CLONE}};
	CUgraphExec second = NULL;
	CUgraphNode node, within;
	OK(cuGraphAddNode(&within, child, NULL, 0, &inner));
	OK(cuGraphAddNode(&node, graph, NULL, 0, &params));
	params.graph.graph = child;
	params.graph.ownership = CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE;
	OK(cuGraphNodeSetParams(node, &params));
	FAILS(NOT_SUPPORTED, cuGraphClone(&clone, graph));
	CUgraphExec exec = new_exec(graph);
	FAILS(NOT_SUPPORTED, cuGraphInstantiateWithFlags(&second, graph, 0));
	release_graph(exec, graph);
	OK(cuGraphDestroy(empty));
}
END_TEST

SUITE(api_condition)
{
	Suite *suite = suite_create("api_condition");
	TCase *tcase = suite_add_case(suite, "conditions");
	tcase_add_checked_fixture(tcase, condition_setup, NULL);
	tcase_add_test(tcase, loops_can_be_nested);
	tcase_add_test(tcase, bodies_take_few_kinds_of_nodes);
	tcase_add_test(tcase, a_node_that_was_not_added_leaves_the_graph_as_it_was);
	tcase_add_test(tcase, a_child_with_conditions_can_replace_another);
	tcase_add_test(tcase, a_condition_without_a_default_keeps_its_value);
	tcase_add_test(tcase, a_kernel_that_sets_no_condition_fails);
	tcase = suite_add_case(suite, "timeout");
	tcase_add_checked_fixture(tcase, timeout_setup, NULL);
	tcase_add_loop_test(tcase, a_loop_without_an_end_runs_out_of_time, 0, 2);
	return suite;
}
