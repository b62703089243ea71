// Runs the commands of the pages in docs/ verbatim, page by page, each on its own machine; checks
// that every command in the README exists with its flags.
import { execFileSync } from "node:child_process"
import { existsSync, readFileSync, renameSync } from "node:fs"
import { dirname, join } from "node:path"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { writeCertificate } from "../support/certificate.ts"
import {
  blocksOf,
  createMachine,
  documentedPages,
  isGenerated,
  logOf,
  type Machine,
  setUpMachine,
  writeBlock,
} from "../support/documentation.ts"
import { run, temporaryFolder } from "../support/latchkey.ts"
import { needs } from "../support/prerequisite.ts"

const root = join(import.meta.dirname, "../..")
const textOf = (name: string) => readFileSync(join(root, name), "utf8")

/** Command lines that run latchkey, also after a prefix such as "sudo" or "exec". */
const commandsIn = (page: string): readonly string[] =>
  blocksOf(page).flatMap(({ text }) =>
    text
      .replaceAll("\\\n", " ")
      .split("\n")
      .flatMap((line) => /^(?:.*[\s/])?latchkey ((?:[a-z-]+)(?: .*)?)$/.exec(line)?.[1] ?? [])
      .filter((words) => !words.startsWith("-") && !/^\/|\.\w+$/.test(words.split(" ")[0] ?? "")),
  )

/** The anchors of a page's headings, in GitHub's spelling. */
const anchorsOf = (page: string): readonly string[] =>
  [...page.matchAll(/^#+ (.*)$/gm)].map(([, heading = ""]) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
      .replaceAll(" ", "-"),
  )

const pagesWithLinks = [
  ...documentedPages.map((name) => `docs/${name}`),
  "README.md",
  "CHANGELOG.md",
  "CONTRIBUTING.md",
  "SECURITY.md",
]

test.each(pagesWithLinks)("the links of %s point to existing pages and headings", (name) => {
  for (const [, target = "", anchor] of textOf(name).matchAll(/\]\(([^)#:]*)(?:#([^)]+))?\)/g)) {
    const path = target === "" ? name : join(dirname(name), target)
    if (path.startsWith("docs/") && isGenerated(path.slice("docs/".length))) continue
    expect(existsSync(join(root, path)), `${name}: ${target}`).toBe(true)
    if (anchor !== undefined)
      expect(anchorsOf(textOf(path)), `${target}#${anchor}`).toContain(anchor)
  }
})

test("docs/ lists all of its pages", () => {
  const list = textOf("docs/README.md")
  for (const name of documentedPages.filter((each) => each !== "README.md"))
    expect(list).toContain(`(${name})`)
})

const shownCommands = ["README.md", ...documentedPages.map((name) => `docs/${name}`)].flatMap(
  (name) => [...new Set(commandsIn(textOf(name)))].map((words) => [name, words] as const),
)

test.each(shownCommands)("%s: latchkey %s", async (_, words) => {
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

/** The state before a page's commands, if it is not a running server, and the checks after them. */
type PageScenario = {
  readonly before?: (machine: Machine) => unknown
  readonly after?: (machine: Machine, text: string) => unknown
}

const scenarios: Readonly<Record<string, PageScenario>> = {
  "get-started/quick-start.md": {
    before: prepareDownload,
    after: (_, values) => expect(values).toMatch(/latchkey-0\.1\.0-linux-x64\.tar\.gz: OK/),
  },
  "get-started/demo.md": {
    before: prepareDownload,
    after: (_, output) =>
      expect(output).toMatch(/^ +dev +Start a development instance .* a demo application/m),
  },
  "install/service.md": { before: () => {} },
  "install/certificates.md": {
    before: async ({ work }) => {
      const made = await writeCertificate(join(work, "made"), ["id.example.com"])
      renameSync(made.certFile, join(work, "fullchain.pem"))
      renameSync(made.keyFile, join(work, "privkey.pem"))
    },
  },
  "operate/upgrade.md": {
    before: async ({ data, run: type }) => {
      const earlier = join(root, "test/reliability/earlier/schema-6.tar.gz")
      execFileSync("tar", ["-xzf", earlier, "-C", data])
      await type("chmod 700 /var/lib/latchkey")
    },
    after: (_, output) => expect(output).toContain("restored to the state before the upgrade"),
  },
  "get-started/first-application.md": {
    after: (_, output) => {
      expect(output).toMatch(/Plan only: nothing was changed/)
      expect(output).toMatch(/clientSecret {2}\S{20,}/)
    },
  },
  "guides/sign-up.md": {
    after: (_, values) => expect(values).toContain("/ui/login/register/link?link="),
  },
  "guides/passkeys.md": { after: (_, values) => expect(values).toMatch(/"code":\s*\{/) },
  "guides/mail.md": { after: (machine) => expect(logOf(machine)).toContain("/dev") },
  "guides/roles.md": { after: (_, values) => expect(values).toContain("+ ") },
  "guides/api-scopes.md": { after: (_, values) => expect(values).toContain("Orders API") },
  "operate/backup.md": { after: (machine) => expectSameServer(machine) },
  "operate/recover.md": {
    after: (_, values) => expect(values.match(/\/ui\/login\/\S+#/g)).toHaveLength(2),
  },
  "operate/monitoring.md": {
    after: (_, values) => expect(values).toContain("latchkey_sign_in_checks_total"),
  },
  "guides/automation.md": {
    after: (_, output) => expect(output).toContain("Everything matches the description."),
  },
}

describe.runIf(needs("curl"))("commands run verbatim:", () => {
  let folder: ReturnType<typeof temporaryFolder>
  let machine: Machine
  beforeEach(async () => {
    folder = temporaryFolder()
    machine = await createMachine(folder.path)
  })
  afterEach(async () => {
    await machine.stop()
    folder.remove()
  })

  const shown = documentedPages.filter((name) =>
    blocksOf(textOf(`docs/${name}`)).some(({ language }) => language === "sh"),
  )

  test("no scenario exists for a page without commands", () => {
    expect(Object.keys(scenarios).filter((name) => !shown.includes(name))).toEqual([])
    expect(shown.length).toBeGreaterThan(10)
  })

  test.each(shown)("docs/%s", { timeout: 240_000 }, async (name) => {
    const { before = setUpMachine, after } = scenarios[name] ?? {}
    await before(machine)
    let output = ""
    let folder = ""
    for (const block of blocksOf(textOf(`docs/${name}`))) {
      if (block.file !== "") writeBlock(machine, block)
      if (block.language !== "sh") continue
      // A shell keeps its working directory.
      const typed = await machine.run(`${folder}${block.text}`)
      expect(typed.code, typed.said).toBe(0)
      folder += block.text.match(/^cd .*\n/gm)?.join("") ?? ""
      output += typed.said
    }
    await after?.(machine, output)
  })
})

/** A release archive with its checksums. */
async function prepareDownload({ run: type }: Machine): Promise<void> {
  const made = await type(`mkdir latchkey-0.1.0-linux-x64
    cp --dereference latchkey latchkey-0.1.0-linux-x64/
    tar --create --gzip --file latchkey-0.1.0-linux-x64.tar.gz latchkey-0.1.0-linux-x64
    rm -r latchkey-0.1.0-linux-x64 latchkey
    sha256sum latchkey-0.1.0-linux-x64.tar.gz > SHA256SUMS`)
  expect(made.code, made.said).toBe(0)
}

/** The restored server accepts the same key. */
async function expectSameServer({ run: type }: Machine): Promise<void> {
  const token = "latchkey token --key automation.json --server https://id.example.com"
  const { code, said } = await type(token)
  expect(code, said).toBe(0)
}
