"""The fixed words of the offline answers, English and Chinese."""

from __future__ import annotations

from collections.abc import Mapping

WORDS: Mapping[str, Mapping[str, str]] = {
    "not_answered": {"en": "It waits in the inbox.", "zh": "它在收件箱中等待确认。"},
    "not_understood": {
        "en": "That is no sentence I know, and I never guess at a change. I understand, for example:",
        "zh": "我不理解这句话，也绝不猜测要改动什么。我能理解的例子：",
    },
    "help": {"en": "I understand, for example:", "zh": "我能理解，例如："},
    "inbox_alone": {
        "en": "A yes said here changes nothing: open the inbox, look at what would be sent, and answer there.",
        "zh": "在这里说“是”不起作用：请打开收件箱，查看将要发送的内容，在那里回答。",
    },
    "no_jobs": {"en": "There is no such job.", "zh": "没有这样的作业。"},
    "jobs": {"en": "{total} jobs", "zh": "共 {total} 个作业"},
    "job": {"en": "Job {id} ({name}) is {status}.", "zh": "作业 {id}（{name}）：{status}。"},
    "jobs_one": {"en": "{total} job", "zh": "共 {total} 个作业"},
    "queues_one": {"en": "{total} queue", "zh": "共 {total} 个队列"},
    "nodes_one": {"en": "{total} node", "zh": "共 {total} 个节点"},
    "no_queues": {"en": "There is no queue.", "zh": "没有队列。"},
    "queues": {"en": "{total} queues", "zh": "共 {total} 个队列"},
    "no_nodes": {"en": "There is no node.", "zh": "没有节点。"},
    "nodes": {"en": "{total} nodes", "zh": "共 {total} 个节点"},
    "no_log": {"en": "The {stream} of job {id} is empty.", "zh": "作业 {id} 的 {stream} 是空的。"},
    "log": {"en": "The end of {stream} of job {id}:", "zh": "作业 {id} 的 {stream} 末尾："},
    "metrics": {"en": "Cluster {cluster}:", "zh": "集群 {cluster}："},
    "many_jobs": {"en": "jobs", "zh": "作业"},
    "many_nodes": {"en": "nodes", "zh": "节点"},
    "many_cores": {"en": "cores used / total", "zh": "核（已用 / 总数）"},
    "many_gpus": {"en": "GPUs used / total", "zh": "GPU（已用 / 总数）"},
    "many_slots": {"en": "slots used / total", "zh": "槽位（已用 / 总数）"},
    "reached": {"en": "Job {id} is {status}.", "zh": "作业 {id}：{status}。"},
    "not_reached": {
        "en": "Job {id} is still {status}; I tell you when that changes.",
        "zh": "作业 {id} 仍是：{status}；变化时会告诉你。",
    },
    "exit": {"en": "Exit code {code}.", "zh": "退出码 {code}。"},
    "cause": {"en": "**{cause}** ({sure})", "zh": "**{cause}**（{sure}）"},
    "certain": {"en": "certain", "zh": "确定"},
    "likely": {"en": "likely", "zh": "很可能"},
    "unknown": {"en": "not known", "zh": "未知"},
    "blocker": {"en": "In the way: {blocker}.", "zh": "阻碍：{blocker}。"},
    "evidence": {"en": "Evidence:", "zh": "依据："},
    "changes": {"en": "What would have to change:", "zh": "需要的改变："},
    "no_estimate": {"en": "The wait cannot be estimated.", "zh": "无法估计等待时间。"},
    "estimate": {
        "en": "About {about}; eight of ten wait between {low} and {high}.",
        "zh": "大约 {about}；十个中有八个等待 {low} 到 {high}。",
    },
    "basis": {"en": "Basis: {basis}, {sample} jobs.", "zh": "依据：{basis}，{sample} 个作业。"},
    "no_suggestion": {"en": "Nothing can be suggested from what is known.", "zh": "根据已知信息无法给出建议。"},
    "suggestion": {"en": "Suggested (from {sample} jobs):", "zh": "建议（依据 {sample} 个作业）："},
    "no_records": {"en": "There is no record.", "zh": "没有记录。"},
    "more": {"en": "{shown} of {total} are shown.", "zh": "显示了 {total} 个中的 {shown} 个。"},
    "created": {"en": "New job: {ids}", "zh": "新作业：{ids}"},
    "watched": {"en": "I tell you when it happens (job {id}).", "zh": "到时会告诉你（作业 {id}）。"},
    "watched_later": {"en": "Once it is sent, I tell you what becomes of it.", "zh": "发送之后，我会告诉你结果。"},
    "not_watched": {
        "en": "So many jobs are watched already that this one is not: drop one with /watches drop ID.",
        "zh": "关注的作业已达上限，没有关注它：请用 /watches drop ID 去掉一个。",
    },
    "over_already": {"en": "It is over already: nothing to watch.", "zh": "它已经结束，不需要关注。"},
    "fired": {"en": "Job {id} is over: {status}.", "zh": "作业 {id} 已结束：{status}。"},
    "fired_started": {"en": "Job {id} has started.", "zh": "作业 {id} 已开始。"},
    "fired_gone": {
        "en": "The scheduler knows job {id} no more; how it ended cannot be told.",
        "zh": "调度器已不认识作业 {id}；无法得知它如何结束。",
    },
    "fix": {
        "en": "I propose to submit it again with {field} {after} instead of {before}.",
        "zh": "建议重新提交，{field} 由 {before} 改为 {after}。",
    },
    "fix_again": {"en": "I propose to submit it again as it was.", "zh": "建议原样重新提交。"},
    "no_fix": {
        "en": "I propose nothing: what to change is for you to decide.",
        "zh": "我不提出建议：如何修改由你决定。",
    },
    "second": {
        "en": "That was the second failure of this work. I stop here; what now is for you to decide.",
        "zh": "这项工作已第二次失败。我到此为止；下一步由你决定。",
    },
    "chain_stopped": {
        "en": "Not submitted, because the one before was not: {commands}",
        "zh": "由于前一个没有提交，以下没有提交：{commands}",
    },
    "none_selected": {"en": "No job is meant by that: nothing is proposed.", "zh": "没有符合的作业：不提出任何操作。"},
    "too_many": {
        "en": "Those are {total} jobs, more than the {most} that one action may be aimed at. Say which.",
        "zh": "共有 {total} 个作业，超过一次操作的上限 {most}。请说明是哪些。",
    },
    "unit": {"en": "unknown unit", "zh": "单位不明"},
    "job_columns": {
        "en": "job|name|state|queue|owner|cores|elapsed",
        "zh": "作业|名称|状态|队列|所有者|核|已运行",
    },
    "queue_columns": {"en": "queue|state|running|pending|longest", "zh": "队列|状态|运行|排队|最长时限"},
    "node_columns": {"en": "node|state|used|quota|slots|reason", "zh": "节点|状态|已用|配额|槽位|原因"},
    "audit_columns": {"en": "time|kind|from|action|decision", "zh": "时间|类别|来源|操作|决定"},
    "field_reason": {"en": "reason", "zh": "原因"},
    "field_owner": {"en": "owner", "zh": "所有者"},
    "field_queue": {"en": "queue", "zh": "队列"},
    "field_nodes": {"en": "nodes", "zh": "节点"},
    "field_cores": {"en": "cores", "zh": "核"},
    "field_gpus": {"en": "GPUs", "zh": "GPU"},
    "field_memory": {"en": "memory", "zh": "内存"},
    "field_walltime": {"en": "time limit", "zh": "时限"},
    "field_elapsed": {"en": "elapsed", "zh": "已运行"},
    "field_submitted": {"en": "submitted", "zh": "提交时间"},
    "field_started": {"en": "started", "zh": "开始时间"},
    "field_ended": {"en": "ended", "zh": "结束时间"},
    "field_dependencies": {"en": "waits for", "zh": "依赖"},
}
PROPOSED: Mapping[str, Mapping[str, str]] = {
    "shown": {"en": "{what}: nothing was sent. This would be sent:", "zh": "{what}：没有发送任何内容。将会发送："},
    "waiting": {"en": "{what}: it waits in the inbox.", "zh": "{what}：在收件箱中等待确认。"},
    "declined": {"en": "{what}: not sent.", "zh": "{what}：没有发送。"},
    "sent": {"en": "{what}: sent.", "zh": "{what}：已发送。"},
    "sent_running": {"en": "{what}: being sent.", "zh": "{what}：正在发送。"},
    "sent_accepted": {"en": "{what}: accepted by the scheduler.", "zh": "{what}：调度器已接受。"},
    "sent_refused": {"en": "{what}: refused by the scheduler.", "zh": "{what}：被调度器拒绝。"},
    "sent_unknown": {
        "en": "{what}: no usable answer came; it may have happened or not.",
        "zh": "{what}：没有得到可用的回答；可能已执行，也可能没有。",
    },
    "sent_partly": {"en": "{what}: accepted in part.", "zh": "{what}：部分被接受。"},
    "sent_stopped": {"en": "{what}: stopped before anything was sent.", "zh": "{what}：发送之前已停止。"},
}
ACTIONS_ZH: Mapping[str, str] = {
    "submit": "提交", "cancel": "取消", "hold": "保持", "release": "释放", "suspend": "暂停", "resume": "恢复",
    "requeue": "重新排队", "modify": "修改", "set_node_quota": "设置配额", "drain": "排空", "undrain": "恢复",
}  # fmt: skip
SCOPE: Mapping[str, Mapping[str, str]] = {
    "now": {"en": "The scope is now: {scope}.", "zh": "范围现在是：{scope}。"},
    "by_key": {
        "en": "Only a key of your own widens the scope. It is: {scope}.",
        "zh": "只有你自己的按键能放宽范围。现在是：{scope}。",
    },
    "no_cluster": {
        "en": "There is no cluster {names}; the scope stays: {scope}.",
        "zh": "没有集群 {names}；范围不变：{scope}。",
    },
}
STATES_ZH: Mapping[str, str] = {
    "pending": "排队", "running": "运行", "succeeded": "成功", "failed": "失败", "cancelled": "已取消",
    "suspended": "已暂停", "unknown": "未知", "active": "开放", "inactive": "关闭", "draining": "排空中",
    "idle": "空闲", "busy": "忙", "down": "停机", "drain": "已排空",
}  # fmt: skip
EXAMPLES: Mapping[str, tuple[str, ...]] = {
    "en": (
        "my running jobs", "why is job 12 pending", "show the log of job 12", "cancel job 12",
        "run sleep 30 on 2 cores in queue short, and tell me when it ends", "cancel all my pending jobs",
        "set the quota of node-2 to 2", "only look at my jobs",
    ),
    "zh": (
        "我的运行中的作业", "为什么作业 12 在排队", "查看作业 12 的日志", "取消作业 12",
        "在 short 队列用 2 核运行 sleep 30，结束后告诉我", "取消我的所有排队作业", "把 node-2 的配额设为 2", "只看我的作业",
    ),
}  # fmt: skip
