// The reference, made from what the program itself goes by. Each archive of a release has that of
// its version, so that it can't be another's; `bun scripts/reference.ts` writes it in a checkout.
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { type DescMethod, getOption, hasOption } from "@bufbuild/protobuf"
import { book } from "../src/api/book.ts"
import { bindingsOf } from "../src/api/encoding/rest.ts"
import { access } from "../src/gen/core/options_pb.ts"
import { http } from "../src/gen/google/api/annotations_pb.ts"
import { keys, spelling } from "../src/kernel/config.ts"
import { aggregateOf, namesOfType } from "../src/kernel/event/name.ts"
import { gauges } from "../src/server/metrics/gauges.ts"
import { metersOf } from "../src/server/metrics/meters.ts"
import { aggregates } from "../src/server/modules.ts"
import { revisionOf } from "../src/store/log/event-types.ts"
import { code, needs, page, type Row, table } from "./reference-page.ts"
import { versionTwo } from "./reference-v2.ts"
import { root } from "./step.ts"

function configuration(): string {
  const rows = Object.entries(keys).map(([key, { from, hint, help }]) => [
    from.includes("flag") ? code(`${spelling.flag(key)} ${hint}`) : "",
    from.includes("env") ? code(spelling.env(key)) : "",
    from.includes("file") ? code(spelling.file(key)) : "",
    help,
  ])
  return page(
    "Every setting",
    "Flags win over the environment, that over the file, that over the defaults.",
    table(["Flag", "Environment", "File", "What it says"], rows),
  )
}

const pathsOf = (method: DescMethod): string =>
  hasOption(method, http)
    ? bindingsOf(method)
        .map(({ verb, path }) => code(`${verb} ${path}`))
        .join(" ")
    : ""

function api(): string {
  const parts = book.map(({ typeName, methods }) => {
    const rows = methods.map((method): Row => {
      const name = `${code(method.name)}${method.proto.options?.deprecated ? " (deprecated)" : ""}`
      return [name, pathsOf(method), needs(getOption(method, access))]
    })
    return `## ${typeName}\n\n${table(["Operation", "REST", "Needs"], rows)}`
  })
  return page(
    "Every operation",
    "By Connect, gRPC-Web and gRPC an operation is at `/SERVICE/OPERATION`; some have REST " +
      "paths, too. `/openapi` of a server says what goes in and comes out; for version 2 [the " +
      "pages of its services](api-v2.md) do, and `/openapi/v2` of a server.",
    ...parts,
  )
}

/** What the program prints. */
async function said(...words: readonly string[]): Promise<string> {
  const command = [process.execPath, join(root, "src/main.ts"), ...words]
  const child = Bun.spawn(command, { env: {}, stderr: "ignore" })
  return (await new Response(child.stdout).text()).trimEnd()
}

/** Names that may follow what is typed. */
const following = async (...typed: readonly string[]): Promise<readonly string[]> =>
  (await said("__complete", ...typed, "")).split("\n").map((line) => line.split("\t")[0] ?? "")

/** What each command says of itself, by its name of one word or two. */
async function helps(): Promise<readonly (readonly [name: string, help: string])[]> {
  const asked = (await following()).map(async (first) => {
    const help = await said(first, "--help")
    if (help !== "") return [[first, help] as const]
    const second = (await following(first)).map((word) => `${first} ${word}`)
    return Promise.all(
      second.map(async (name) => [name, await said(...name.split(" "), "--help")] as const),
    )
  })
  return (await Promise.all(asked)).flat()
}

async function commands(): Promise<string> {
  const parts = (await helps()).map(([name, help]) => {
    const lines = help.split("\n").map((line) => line.trimEnd())
    return `## latchkey ${name}\n\n\`\`\`\n${lines.join("\n").replace(/\n{2,}/g, "\n\n")}\n\`\`\``
  })
  return page("Every command", ...parts)
}

function events(): string {
  const parts = aggregates.map((aggregate) => {
    const { stream, evolve } = aggregate
    const rows = Object.keys(evolve).map((type): Row => {
      const [name = type, ...others] = namesOfType(type)
      const presented = `${code(name)} of ${code(aggregateOf(stream, type))}`
      const further = others.filter((each) => each !== type).map(code)
      return [code(type), `${revisionOf(aggregate, type)}`, presented, further.join(", ")]
    })
    const head = ["Stored type", "Revision", "Presented as", "Also matches"]
    return `## ${stream}\n\n${table(head, rows)}`
  })
  return page(
    "Every event",
    "What happens is stored as events, by the kind of thing they are about. `latchkey events " +
      "search` and `tail`, `/events/_search`, histories and executions present each event under " +
      "one type and aggregate. Filters and conditions match the presented type, the stored type " +
      "and the types in the last column, some of which depend on what the event contains. The " +
      "audit trail has the stored types.",
    ...parts,
  )
}

async function metrics(): Promise<string> {
  const metered = await metersOf().registry.getMetricsAsJSON()
  const counted = metered.map(({ name, type, help }): Row => [code(name), `${type}`, help])
  const looked = gauges.map(({ name, help }): Row => [code(name), "gauge", help])
  const rows = [...counted, ...looked].sort(([a = ""], [b = ""]) => a.localeCompare(b))
  return page(
    "Every metric",
    "At `/metrics` of `--metrics-listen`, in the format of Prometheus.",
    table(["Name", "Type", "What it says"], rows),
  )
}

/** The pages of the reference, by their files. */
export const reference = new Map<string, () => string | Promise<string>>([
  ["configuration.md", configuration],
  ["commands.md", commands],
  ["api.md", api],
  ...versionTwo,
  ["events.md", events],
  ["metrics.md", metrics],
])

/** Writes all of them into a folder. */
export async function writeReference(folder: string): Promise<void> {
  mkdirSync(folder, { recursive: true })
  for (const [name, write] of reference) writeFileSync(join(folder, name), await write())
}

if (import.meta.main) await writeReference(join(root, "docs", "reference"))
