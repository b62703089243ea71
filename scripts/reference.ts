// Generates the reference from the program's own definitions. Each release archive contains the
// reference of its version; `bun scripts/reference.ts` writes it in a checkout.
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { type DescMethod, getOption, hasOption } from "@bufbuild/protobuf"
import { allServices } from "../src/api/book.ts"
import { bindingsOf } from "../src/api/encoding/rest.ts"
import { access } from "../src/gen/core/options_pb.ts"
import { http } from "../src/gen/google/api/annotations_pb.ts"
import { keyNames, keys } from "../src/kernel/config.ts"
import { aggregateOf, namesOfType } from "../src/kernel/event/name.ts"
import { gauges } from "../src/server/metrics/gauges.ts"
import { createMeters } from "../src/server/metrics/meters.ts"
import { aggregates } from "../src/server/modules.ts"
import { revisionOf } from "../src/store/log/event-types.ts"
import {
  formatPage,
  formatRequirements,
  formatTable,
  inlineCode,
  type Row,
} from "./reference-page.ts"
import { versionTwo } from "./reference-v2.ts"
import { root } from "./step.ts"

function formatConfiguration(): string {
  const rows = Object.entries(keys).map(([key, { sources: from, hint, help }]) => [
    from.includes("flag") ? inlineCode(`${keyNames.flag(key)} ${hint}`) : "",
    from.includes("env") ? inlineCode(keyNames.env(key)) : "",
    from.includes("file") ? inlineCode(keyNames.file(key)) : "",
    help,
  ])
  return formatPage(
    "All settings",
    "Flags take precedence over environment variables, then the file, then the defaults.",
    formatTable(["Flag", "Environment", "File", "Description"], rows),
  )
}

const pathsOf = (method: DescMethod): string =>
  hasOption(method, http)
    ? bindingsOf(method)
        .map(({ verb, path }) => inlineCode(`${verb} ${path}`))
        .join(" ")
    : ""

function formatApi(): string {
  const parts = allServices.map(({ typeName, methods }) => {
    const rows = methods.map((method): Row => {
      const suffix = method.proto.options?.deprecated ? " (deprecated)" : ""
      const name = `${inlineCode(method.name)}${suffix}`
      return [name, pathsOf(method), formatRequirements(getOption(method, access))]
    })
    return `## ${typeName}\n\n${formatTable(["Operation", "REST", "Requires"], rows)}`
  })
  return formatPage(
    "All operations",
    "With Connect, gRPC-Web and gRPC, an operation has the path `/SERVICE/OPERATION`; " +
      "some operations also have REST paths. `/openapi` of a server describes requests and " +
      "responses; for version 2, see [the pages of its services](api-v2.md) and " +
      "`/openapi/v2`.",
    ...parts,
  )
}

/** The output of the program. */
async function runProgram(...words: readonly string[]): Promise<string> {
  const command = [process.execPath, join(root, "src/main.ts"), ...words]
  const child = Bun.spawn(command, { env: {}, stderr: "ignore" })
  return (await new Response(child.stdout).text()).trimEnd()
}

/** Completions for a partial command. */
const completionsOf = async (...typed: readonly string[]): Promise<readonly string[]> =>
  (await runProgram("__complete", ...typed, ""))
    .split("\n")
    .map((line) => line.split("\t")[0] ?? "")

/** The help text of each command, by its name of one or two words. */
async function listHelpTexts(): Promise<readonly (readonly [name: string, help: string])[]> {
  const subcommands = (await completionsOf()).map(async (first) => {
    const help = await runProgram(first, "--help")
    if (help !== "") return [[first, help] as const]
    const second = (await completionsOf(first)).map((word) => `${first} ${word}`)
    return Promise.all(
      second.map(async (name) => [name, await runProgram(...name.split(" "), "--help")] as const),
    )
  })
  return (await Promise.all(subcommands)).flat()
}

async function formatCommands(): Promise<string> {
  const parts = (await listHelpTexts()).map(([name, help]) => {
    const lines = help.split("\n").map((line) => line.trimEnd())
    return `## latchkey ${name}\n\n\`\`\`\n${lines.join("\n").replace(/\n{2,}/g, "\n\n")}\n\`\`\``
  })
  return formatPage("All commands", ...parts)
}

function formatEvents(): string {
  const parts = aggregates.map((aggregate) => {
    const { stream, evolve } = aggregate
    const rows = Object.keys(evolve).map((type): Row => {
      const [name = type, ...others] = namesOfType(type)
      const presented = `${inlineCode(name)} of ${inlineCode(aggregateOf(stream, type))}`
      const further = others.filter((each) => each !== type).map(inlineCode)
      return [inlineCode(type), `${revisionOf(aggregate, type)}`, presented, further.join(", ")]
    })
    const header = ["Stored type", "Revision", "Returned as", "Also matches"]
    return `## ${stream}\n\n${formatTable(header, rows)}`
  })
  return formatPage(
    "All events",
    "Changes are stored as events, grouped by aggregate. `latchkey events search` and " +
      "`tail`, `/events/_search`, histories and executions return each event with one type " +
      "and one aggregate. Filters and conditions match the returned type, the stored type " +
      "and the types in the last column, some of which depend on the content of the event. " +
      "The audit log contains the stored types.",
    ...parts,
  )
}

async function formatMetrics(): Promise<string> {
  const metricRows = await createMeters().registry.getMetricsAsJSON()
  const counted = metricRows.map(({ name, type, help }): Row => [inlineCode(name), `${type}`, help])
  const observed = gauges.map(({ name, help }): Row => [inlineCode(name), "gauge", help])
  const rows = [...counted, ...observed].sort(([a = ""], [b = ""]) => a.localeCompare(b))
  return formatPage(
    "All metrics",
    "Available at `/metrics` of `--metrics-listen`, in Prometheus format.",
    formatTable(["Name", "Type", "Description"], rows),
  )
}

/** The pages of the reference by file name. */
export const reference = new Map<string, () => string | Promise<string>>([
  ["configuration.md", formatConfiguration],
  ["commands.md", formatCommands],
  ["api.md", formatApi],
  ...versionTwo,
  ["events.md", formatEvents],
  ["metrics.md", formatMetrics],
])

/** Writes all pages to a folder. */
export async function writeReference(folder: string): Promise<void> {
  mkdirSync(folder, { recursive: true })
  for (const [name, write] of reference) writeFileSync(join(folder, name), await write())
}

if (import.meta.main) await writeReference(join(root, "docs", "reference"))
