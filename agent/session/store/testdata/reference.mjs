// Opens sessions with the published SessionManager, or writes one, and tells what it
// sees as JSON: node reference.mjs PACKAGE open FILE | write FOLDER
import { pathToFileURL } from "node:url";
import { join } from "node:path";
const [folder, mode, target] = process.argv.slice(2);
const { SessionManager, buildSessionContext } = await import(pathToFileURL(join(folder, "dist", "index.js")));

function tell(s) {
  const entries = s.getEntries();
  const node = (n) => ({ id: n.entry.id, label: n.label ?? "", children: n.children.map(node) });
  const contexts = {};
  for (const e of entries) contexts[e.id] = buildSessionContext(entries, e.id);
  console.log(JSON.stringify({
    file: s.getSessionFile(), header: s.getHeader(), entries, leaf: s.getLeafId(),
    name: s.getSessionName() ?? "", tree: s.getTree().map(node), contexts,
  }));
}

const usage = { input: 1, output: 2, cacheRead: 3, cacheWrite: 4, totalTokens: 10, cost: { input: 0.1, output: 0.2, cacheRead: 0, cacheWrite: 0, total: 0.3 } };
const answer = (content, more = {}) => ({
  role: "assistant", content, api: "anthropic-messages", provider: "anthropic", model: "claude", responseId: "r1",
  usage, stopReason: content.some((b) => b.type === "toolCall") ? "toolUse" : "stop", timestamp: 1700000000000, ...more,
});
const user = (content) => ({ role: "user", content, timestamp: 1700000000001 });

function write(dir) {
  const s = SessionManager.create("/srv/app", dir);
  s.appendModelChange("anthropic", "claude");
  s.appendThinkingLevelChange("high");
  s.appendMessage({ role: "system", content: "be brief", sections: { a: "b" }, toolsAdded: [], timestamp: 1 });
  const first = s.appendMessage(user("hello <b>\u2028 \u{1f600}"));
  s.appendMessage(answer([
    { type: "thinking", thinking: "hm", thinkingSignature: "sig" },
    { type: "text", text: "two reads", textSignature: "ts" },
    { type: "toolCall", id: "c1", name: "read", arguments: { path: "a" }, thoughtSignature: "x" },
    { type: "toolCall", id: "c2", name: "read", arguments: { path: "b" } },
  ]));
  s.appendMessage({ role: "toolResult", toolCallId: "c1", toolName: "read", content: [{ type: "text", text: "A" }], details: { n: 1 }, isError: false, timestamp: 3 });
  const big = s.appendMessage({ role: "toolResult", toolCallId: "c2", toolName: "read", content: [{ type: "image", data: "aGk=", mimeType: "image/png" }], isError: true, usage, timestamp: 4 });
  s.appendMessage({ role: "bashExecution", command: "ls", output: "x", exitCode: 0, cancelled: false, truncated: false, timestamp: 5 });
  s.appendCustomEntry("state", { count: 1 });
  s.appendCustomMessageEntry("note", "plain", true, { d: 1 });
  s.appendCustomMessageEntry("note", [{ type: "text", text: "list" }], false);
  s.appendUsage("cache_warm", "anthropic", "claude", usage, "why");
  s.appendLabelChange(first, "start");
  s.appendSessionInfo("a name");
  const kept = s.appendMessage(user([{ type: "text", text: "more" }]));
  s.appendMessage(answer([{ type: "text", text: "done" }], { model: "other", newField: { deep: [1] } }));
  s.appendContextEdit(kept, { content: "edited" });
  s.appendContextEdit(big, { content: "short" });
  s.appendCompaction("what was", kept, 1234, { readFiles: ["a"], modifiedFiles: [] }, false, usage);
  s.appendMessage(user("after"));
  s.appendMessage(answer([{ type: "text", text: "ok" }]));
  s.branchWithSummary(kept, "went elsewhere", { readFiles: [] }, true);
  s.appendMessage(user("other way"));
  const gone = s.appendMessage(answer([{ type: "text", text: "forget" }], { stopReason: "error", errorMessage: "bad" }));
  s.appendContextEdit(gone, null);
  s.appendCompaction("nothing kept", null, 99);
  s.appendThinkingLevelChange("off");
  s.appendLabelChange(first, undefined);
  s.appendLabelChange(kept, "kept");
  s.appendMessage(user("end"));
  return s;
}

tell(mode === "write" ? write(target) : SessionManager.open(target));
