// Drives piremote by the published client, unchanged.
// usage: node drive.mjs <package folder> <launcher> <model> <workspace>
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [packageDir, cliPath, model, workspace] = process.argv.slice(2);
const { RpcClient } = await import(pathToFileURL(join(packageDir, "dist", "index.js")));
const client = new RpcClient({ cliPath, model, args: ["-w", workspace, "--name", "driven"] });
const events = [];
client.onEvent((e) => events.push(e));
const types = () => events.splice(0).map((e) => e.type);
// A slow machine takes its time; the client's own bound for a response is 30 s.
const patience = 120000;
const event = (accept) =>
  new Promise((resolve) => {
    const found = events.find(accept);
    if (found) return resolve(found);
    const stop = client.onEvent((e) => {
      if (accept(e)) {
        stop();
        resolve(e);
      }
    });
  });

await client.start();

// get_state before anything was said.
let state = await client.getState();
assert.equal(state.sessionName, "driven");
assert.equal(state.isStreaming, false);
assert.equal(state.messageCount, 0);
assert.equal(state.model.provider, "scripted");
const firstSession = state.sessionId;

// A prompt that calls a tool on the workspace.
let told = await client.promptAndWait("write a file", undefined, patience);
assert.equal(told.filter((e) => e.type === "tool_execution_end" && !e.isError).length, 1);
let text = "";
for (const e of told) if (e.assistantMessageEvent?.type === "text_delta") text += e.assistantMessageEvent.delta;
assert.equal(text, "written");
assert.equal(told.at(-1).type, "agent_settled");
assert.equal(await client.getLastAssistantText(), "written");

// Steering and a follow-up while a command runs.
let idle = client.waitForIdle(patience);
events.length = 0;
assert.equal(await client.prompt("run something"), "started");
await event((e) => e.type === "tool_execution_start" && e.toolName === "bash");
assert.equal(await client.steer("mind this"), "queued");
assert.equal(await client.followUp("then that"), "queued");
assert.equal((await client.getState()).pendingMessageCount, 2);
await assert.rejects(client.prompt("which queue?"), /streamingBehavior/);
await client.bash("touch go"); // the command of the model waits for this file
await idle;
let messages = await client.getMessages();
const said = messages.filter((m) => m.role === "user").map((m) => m.content[0].text);
assert.deepEqual(said, ["write a file", "run something", "mind this", "then that"]);

// Abort.
idle = client.waitForIdle(patience);
events.length = 0;
await client.prompt("wait for ever" + " and ever".repeat(12000)); // more than a compaction keeps
await event((e) => e.type === "tool_execution_start");
await client.abort();
await idle;
assert.equal((await client.getState()).isStreaming, false);
assert.equal(events.findLast((e) => e.type === "agent_settled").aborted, true);
messages = await client.getMessages();
assert.equal(messages.at(-1).role, "toolResult");
assert.equal(messages.at(-1).isError, true);

// A command of the user's, streamed and kept.
events.length = 0;
const result = await client.bash("echo out; exit 3");
assert.deepEqual([result.output, result.exitCode, result.cancelled, result.truncated], ["out", 3, false, false]);
assert.ok(events.some((e) => e.type === "bash_execution_update" && e.delta.includes("out")));
assert.equal((await client.getMessages()).at(-1).role, "bashExecution");

// Compaction.
events.length = 0;
const compaction = await client.compact("mind the file");
assert.match(compaction.summary, /^what happened so far/);
assert.deepEqual(compaction.details, { readFiles: [], modifiedFiles: ["a.txt"] });
assert.ok(compaction.tokensBefore > 0);
assert.deepEqual(types().filter((t) => t.startsWith("compaction")), ["compaction_start", "compaction_end"]);
assert.equal((await client.getMessages())[0].role, "compactionSummary");

// Entries, tree and numbers.
const { entries, leafId } = await client.getEntries();
assert.equal(entries.at(-1).id, leafId);
assert.deepEqual((await client.getEntries(entries.at(-2).id)).entries.map((e) => e.id), [leafId]);
assert.equal((await client.getTree()).tree.length, 1);
const stats = await client.getSessionStats();
assert.equal(stats.userMessages, 5);
assert.ok(stats.toolCalls >= 3 && stats.toolResults === stats.toolCalls);

// A page of it.
const page = join(workspace, "session.html");
assert.deepEqual(await client.exportHtml(page), { path: page });
assert.match(readFileSync(page, "utf8"), /what happened so far/);

// Fork: the session goes on before the second prompt.
const points = await client.getForkMessages();
assert.deepEqual(points.map((p) => p.text).slice(0, 2), ["write a file", "run something"]);
const fork = await client.fork(points[1].entryId);
assert.deepEqual(fork, { text: "run something", cancelled: false });
state = await client.getState();
assert.notEqual(state.sessionId, firstSession);
assert.equal(state.messageCount, 4);
told = await client.promptAndWait("on the fork", undefined, patience);
assert.equal(await client.getLastAssistantText(), "forked");

// Clone, a new session, and back to the first one by its file.
assert.deepEqual(await client.clone(), { cancelled: false });
assert.deepEqual(await client.newSession(), { cancelled: false });
assert.equal((await client.getState()).messageCount, 0);

// Settings.
await client.setSteeringMode("all");
await client.setFollowUpMode("all");
await client.setAutoCompaction(false);
await client.setAutoRetry(false);
await client.abortRetry();
await client.setSessionName("renamed");
state = await client.getState();
assert.deepEqual(
  [state.steeringMode, state.followUpMode, state.autoCompactionEnabled, state.sessionName],
  ["all", "all", false, "renamed"],
);
assert.deepEqual(await client.clearQueue(), { steering: [], followUp: [] });
assert.ok((await client.getAvailableModels()).some((m) => m.provider === "scripted"));
assert.deepEqual(await client.getAvailableThinkingLevels(), ["off"]);
await assert.rejects(client.setModel("nobody", "nothing"), /Model not found: nobody\/nothing/);
assert.deepEqual(await client.getCommands(), []);
await assert.rejects(client.send({ type: "make_coffee" }).then((r) => client.getData(r)), /Unknown command: make_coffee/);

await client.stop();
console.log("driven");
