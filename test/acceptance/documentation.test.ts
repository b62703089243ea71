// Every command that README and docs/ show is one, with flags that it has.
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { expect, test } from "vitest"
import { run } from "../support/latchkey.ts"

const root = join(import.meta.dirname, "../..")
const pages = [
  "README.md",
  ...readdirSync(join(root, "docs")).map((name) => `docs/${name}`),
].filter((name) => name.endsWith(".md"))

/** Lines of code that start us, in whatever they stand: "sudo …", "exec latchkey". */
function commandsIn(page: string): readonly string[] {
  const text = readFileSync(join(root, page), "utf8")
  return [...text.matchAll(/^```\w*\n([\s\S]*?)^```/gm)].flatMap(([, block = ""]) =>
    block
      .replaceAll("\\\n", " ")
      .split("\n")
      .flatMap((line) => /^(?:.*[\s/])?latchkey ((?:[a-z-]+)(?: .*)?)$/.exec(line)?.[1] ?? [])
      .filter((words) => !words.startsWith("-") && !/^\/|\.\w+$/.test(words.split(" ")[0] ?? "")),
  )
}

const shown = pages.flatMap((page) => commandsIn(page).map((words) => [page, words] as const))

test("the pages show commands", () => {
  expect(shown.length).toBeGreaterThan(5)
})

test.each(shown)("%s: latchkey %s", async (_, words) => {
  const typed =
    words
      .split(/\s+[|>#]|\s{2,}#/)[0]
      ?.trim()
      .split(/\s+/) ?? []
  const names = (await run(["__complete", typed[0] ?? "", ""])).output
  const isTwo = names.split("\n").some((line) => line.split("\t")[0] === typed[1])
  const command = isTwo && !typed[1]?.startsWith("-") ? typed.slice(0, 2) : typed.slice(0, 1)
  const { code, output } = await run([...command, "--help"])
  expect(code, output).toBe(0)
  for (const word of typed.filter((each) => each.startsWith("--"))) {
    expect(output, word).toContain(word.split("=")[0])
  }
})
