"""Sentences of the offline grammar, English and Chinese: what each means, and what is no sentence of it."""

from __future__ import annotations

import pytest

from console.chat.grammar import understand
from console.chat.said import Ask, NotUnderstood, Said

MEANT = [
    ('cancel job 12', Said(tool='scheduler_cancel', args={'ids': ['12']}, select=None)),
    ('cancel jobs 12, 13 and 15', Said(tool='scheduler_cancel', args={'ids': ['12', '13', '15']}, select=None)),
    ('kill 100-103', Said(tool='scheduler_cancel', args={'ids': ['100', '101', '102', '103']}, select=None)),
    ('please cancel 12', Said(tool='scheduler_cancel', args={'ids': ['12']}, select=None)),
    ('what would happen if I cancel job 12', Said(tool='scheduler_get_job', args={'id': '12'}, select=None)),
    ('cancel all my pending jobs in queue gpu', Said(tool='scheduler_cancel', args={}, select={'queue': 'gpu', 'owner': 'me', 'statuses': ['pending']})),
    ('run sleep 30 on 2 cores in queue short', Said(tool='scheduler_submit', args={'template': 'general_serial', 'command': ['sleep', '30'], 'queue': 'short', 'cores': 2}, select=None)),
    ('run train.py on 8 cores for 2 hours in queue gpu', Said(tool='scheduler_submit', args={'template': 'general_serial', 'command': ['train.py'], 'queue': 'gpu', 'cores': 8, 'walltime_seconds': 7200}, select=None)),
    ('submit "python train.py --lr 0.1" with 16GB and 4 cores in the gpu queue after job 12 succeeds', Said(tool='scheduler_submit', args={'template': 'chain', 'command': ['python', 'train.py', '--lr', '0.1'], 'dependencies': [{'id': '12', 'kind': 'afterok'}], 'queue': 'gpu', 'cores': 4, 'memory_bytes': 16000000000}, select=None)),
    ('run sim as an array of 100, at most 10 at once', Said(tool='scheduler_submit', args={'template': 'array', 'command': ['sim'], 'array': '0-99%10'}, select=None)),
    ('把 node-2 的配额设为 2', Said(tool='scheduler_set_node_quota', args={'node': 'node-2', 'slots': 2}, select=None)),
    ('取消 node-2 的配额', Said(tool='scheduler_set_node_quota', args={'node': 'node-2', 'slots': None}, select=None)),
    ('set the quota of node-2 to 2', Said(tool='scheduler_set_node_quota', args={'node': 'node-2', 'slots': 2}, select=None)),
    ('limit node-2 to 2 slots', Said(tool='scheduler_set_node_quota', args={'node': 'node-2', 'slots': 2}, select=None)),
    ('clear the quota on node-2', Said(tool='scheduler_set_node_quota', args={'node': 'node-2', 'slots': None}, select=None)),
    ('drain node-2 because of a bad disk', Said(tool='scheduler_drain_node', args={'node': 'node-2', 'reason': 'a bad disk'}, select=None)),
    ('undrain node-2', Said(tool='scheduler_undrain_node', args={'node': 'node-2'}, select=None)),
    ('why is job 12 pending', Said(tool='scheduler_why', args={'id': '12'}, select=None)),
    ('why did job 4711 fail', Said(tool='scheduler_analyze_failure', args={'id': '4711'}, select=None)),
    ('为什么作业 12 在排队', Said(tool='scheduler_why', args={'id': '12'}, select=None)),
    ('作业 12 为什么失败', Said(tool='scheduler_analyze_failure', args={'id': '12'}, select=None)),
    ('why does nothing start', Said(tool='scheduler_why', args={}, select=None)),
    ('show me my running jobs', Said(tool='scheduler_list_jobs', args={'filter': {'owner': 'me', 'statuses': ['running']}}, select=None)),
    ('list jobs', Said(tool='scheduler_list_jobs', args={}, select=None)),
    ('list failed jobs of user alice', Said(tool='scheduler_list_jobs', args={'filter': {'owner': 'alice', 'statuses': ['failed']}}, select=None)),
    ('列出我的正在运行的作业', Said(tool='scheduler_list_jobs', args={'filter': {'owner': 'me', 'statuses': ['running']}}, select=None)),
    ('查看作业 12 的日志', Said(tool='scheduler_job_logs', args={'id': '12', 'stream': 'stdout'}, select=None)),
    ('show the last 50 lines of the log of job 12', Said(tool='scheduler_job_logs', args={'id': '12', 'stream': 'stdout', 'tail': 50}, select=None)),
    ('查看 gpu 队列的排队作业', Said(tool='scheduler_list_jobs', args={'filter': {'queue': 'gpu', 'statuses': ['pending']}}, select=None)),
    ('取消作业 12', Said(tool='scheduler_cancel', args={'ids': ['12']}, select=None)),
    ('杀掉 12 和 13', Said(tool='scheduler_cancel', args={'ids': ['12', '13']}, select=None)),
    ('在 gpu 队列用 8 核运行 train.py 两小时', Said(tool='scheduler_submit', args={'template': 'general_serial', 'command': ['train.py'], 'queue': 'gpu', 'cores': 8, 'walltime_seconds': 7200}, select=None)),
    ('用 2 核在 short 队列运行 sleep 30', Said(tool='scheduler_submit', args={'template': 'general_serial', 'command': ['sleep', '30'], 'queue': 'short', 'cores': 2}, select=None)),
    ('change the time limit of job 12 to 2 hours', Said(tool='scheduler_modify', args={'id': '12', 'changes': {'walltime_seconds': 7200}}, select=None)),
    ('move job 12 to queue long', Said(tool='scheduler_modify', args={'id': '12', 'changes': {'queue': 'long'}}, select=None)),
    ('把作业 12 移到 long 队列', Said(tool='scheduler_modify', args={'id': '12', 'changes': {'queue': 'long'}}, select=None)),
    ('hold 12', Said(tool='scheduler_hold', args={'ids': ['12']}, select=None)),
    ('释放作业 12', Said(tool='scheduler_release', args={'ids': ['12']}, select=None)),
    ('暂停作业 12', Said(tool='scheduler_suspend', args={'ids': ['12']}, select=None)),
    ('恢复作业 12', Said(tool='scheduler_resume', args={'ids': ['12']}, select=None)),
    ('恢复节点 node-2', Said(tool='scheduler_undrain_node', args={'node': 'node-2'}, select=None)),
    ('requeue 12', Said(tool='scheduler_requeue', args={'ids': ['12']}, select=None)),
    ('wait for job 12', Said(tool='scheduler_wait', args={'id': '12', 'until': 'finished'}, select=None)),
    ('when will job 12 start', Said(tool='scheduler_why', args={'id': '12'}, select=None)),
    ('how busy is the cluster', Said(tool='scheduler_cluster_metrics', args={}, select=None)),
    ('show nodes', Said(tool='scheduler_list_nodes', args={}, select=None)),
    ('list queues', Said(tool='scheduler_list_queues', args={}, select=None)),
    ('取消我的所有排队作业', Said(tool='scheduler_cancel', args={}, select={'owner': 'me', 'statuses': ['pending']})),
]  # fmt: skip
ASKED = [
    ('cancel all jobs', 'Whose jobs are to be cancelled? Say, for example: all my pending jobs.'),
    ('cancel it', 'Which job is to be cancelled? Give its id.'),
    ('run foo with 16G', '16G can be decimal or binary: type 16GB (10^n bytes) or 16GiB (2^n).'),
    ('run a | b', 'A command with |, ;, &, <, > or $ needs a shell: put it into a script and submit that.'),
    ('set quota of node-2', 'How many slots may node-2 use? Say a number, or clear its quota.'),
    ('drain node-2', 'Why is node-2 to be drained? The reason is shown to everybody.'),
    ('取消所有作业', 'Whose jobs are to be cancelled? Say, for example: all my pending jobs.'),
]  # fmt: skip
NOT_SENTENCES = [
    "don't cancel job 12",
    "不要取消作业 12",
    "tell me a joke",
    "delete the cluster",
    "reboot node-2",
    "cancel everybody's jobs",
]


@pytest.mark.parametrize(("sentence", "meaning"), MEANT)
def test_meaning(sentence: str, meaning: Said) -> None:
    assert understand(sentence) == meaning


@pytest.mark.parametrize(("sentence", "question"), ASKED)
def test_an_unclear_write_is_asked_about(sentence: str, question: str) -> None:
    assert understand(sentence) == Ask(question)


@pytest.mark.parametrize("sentence", NOT_SENTENCES)
def test_what_is_not_understood_is_never_guessed(sentence: str) -> None:
    assert understand(sentence) == NotUnderstood(sentence)
