// What the pages in docs/ show is typed as it stands, page by page, on a machine of its own; of
// README each command is one, with flags that it has.
import { execFileSync } from "node:child_process"
import { existsSync, readFileSync, renameSync } from "node:fs"
import { dirname, join } from "node:path"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { writeCertificate } from "../support/certificate.ts"
import {
  blocksOf,
  documented,
  inUse,
  isGenerated,
  logOf,
  type Machine,
  machineIn,
  writeBlock,
} from "../support/documented.ts"
import { run, temporaryFolder } from "../support/latchkey.ts"
import { needs } from "../support/prerequisite.ts"

const root = join(import.meta.dirname, "../..")
const textOf = (name: string) => readFileSync(join(root, name), "utf8")

/** Lines of code that start us, in whatever they stand: "sudo …", "exec latchkey". */
const commandsIn = (page: string): readonly string[] =>
  blocksOf(page).flatMap(({ text }) =>
    text
      .replaceAll("\\\n", " ")
      .split("\n")
      .flatMap((line) => /^(?:.*[\s/])?latchkey ((?:[a-z-]+)(?: .*)?)$/.exec(line)?.[1] ?? [])
      .filter((words) => !words.startsWith("-") && !/^\/|\.\w+$/.test(words.split(" ")[0] ?? "")),
  )

/** The anchors of a page: its headings, as the hosts of repositories spell them. */
const anchorsOf = (page: string): readonly string[] =>
  [...page.matchAll(/^#+ (.*)$/gm)].map(([, heading = ""]) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
      .replaceAll(" ", "-"),
  )

const pagesWithLinks = [
  ...documented.map((name) => `docs/${name}`),
  "README.md",
  "CHANGELOG.md",
  "CONTRIBUTING.md",
  "SECURITY.md",
]

test.each(pagesWithLinks)("the links of %s lead to a page and a heading", (name) => {
  for (const [, target = "", anchor] of textOf(name).matchAll(/\]\(([^)#:]*)(?:#([^)]+))?\)/g)) {
    const path = target === "" ? name : join(dirname(name), target)
    if (path.startsWith("docs/") && isGenerated(path.slice("docs/".length))) continue
    expect(existsSync(join(root, path)), `${name}: ${target}`).toBe(true)
    if (anchor !== undefined)
      expect(anchorsOf(textOf(path)), `${target}#${anchor}`).toContain(anchor)
  }
})

test("every page of docs/ is in its list", () => {
  const list = textOf("docs/README.md")
  for (const name of documented.filter((each) => each !== "README.md"))
    expect(list).toContain(`(${name})`)
})

const shownCommands = ["README.md", ...documented.map((name) => `docs/${name}`)].flatMap((name) =>
  [...new Set(commandsIn(textOf(name)))].map((words) => [name, words] as const),
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

/** What a page begins with, where that is not a server in use; and what is to be seen after it. */
type Told = {
  readonly before?: (machine: Machine) => unknown
  readonly after?: (machine: Machine, said: string) => unknown
}

const told: Readonly<Record<string, Told>> = {
  "get-started/quick-start.md": {
    before: downloaded,
    after: (_, said) => expect(said).toMatch(/latchkey-0\.1\.0-linux-x64\.tar\.gz: OK/),
  },
  "get-started/demo.md": {
    before: downloaded,
    after: (_, said) => expect(said).toMatch(/^ +dev +Develop against .* a demo application/m),
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
    before: async ({ data, type }) => {
      const earlier = join(root, "test/reliability/earlier/schema-6.tar.gz")
      execFileSync("tar", ["-xzf", earlier, "-C", data])
      await type("chmod 700 /var/lib/latchkey")
    },
    after: (_, said) => expect(said).toContain("again as it was before"),
  },
  "get-started/first-application.md": {
    after: (_, said) => {
      expect(said).toMatch(/Nothing was changed: this is the plan/)
      expect(said).toMatch(/clientSecret {2}\S{20,}/)
    },
  },
  "guides/sign-up.md": {
    after: (_, said) => expect(said).toContain("/ui/login/register/link?link="),
  },
  "guides/passkeys.md": { after: (_, said) => expect(said).toMatch(/"code":\s*\{/) },
  "guides/mail.md": { after: (machine) => expect(logOf(machine)).toContain("/dev") },
  "guides/roles.md": { after: (_, said) => expect(said).toContain("+ ") },
  "guides/api-scopes.md": { after: (_, said) => expect(said).toContain("Orders API") },
  "operate/backup.md": { after: (machine) => inOnceMore(machine) },
  "operate/recover.md": {
    after: (_, said) => expect(said.match(/\/ui\/login\/\S+#/g)).toHaveLength(2),
  },
  "operate/monitoring.md": {
    after: (_, said) => expect(said).toContain("latchkey_sign_in_checks_total"),
  },
  "guides/automation.md": {
    after: (_, said) => expect(said).toContain("Everything is as described."),
  },
}

describe.runIf(needs("curl"))("typed as it stands:", () => {
  let folder: ReturnType<typeof temporaryFolder>
  let machine: Machine
  beforeEach(async () => {
    folder = temporaryFolder()
    machine = await machineIn(folder.path)
  })
  afterEach(async () => {
    await machine.end()
    folder.remove()
  })

  const shown = documented.filter((name) =>
    blocksOf(textOf(`docs/${name}`)).some(({ language }) => language === "sh"),
  )

  test("nothing is told of a page that shows no command", () => {
    expect(Object.keys(told).filter((name) => !shown.includes(name))).toEqual([])
    expect(shown.length).toBeGreaterThan(10)
  })

  test.each(shown)("docs/%s", { timeout: 240_000 }, async (name) => {
    const { before = inUse, after } = told[name] ?? {}
    await before(machine)
    let said = ""
    let folder = ""
    for (const block of blocksOf(textOf(`docs/${name}`))) {
      if (block.file !== "") writeBlock(machine, block)
      if (block.language !== "sh") continue
      // A shell stays where it was led to.
      const typed = await machine.type(`${folder}${block.text}`)
      expect(typed.code, typed.said).toBe(0)
      folder += block.text.match(/^cd .*\n/gm)?.join("") ?? ""
      said += typed.said
    }
    await after?.(machine, said)
  })
})

/** The archive of a release, with its sums. */
async function downloaded({ type }: Machine): Promise<void> {
  const made = await type(`mkdir latchkey-0.1.0-linux-x64
    cp --dereference latchkey latchkey-0.1.0-linux-x64/
    tar --create --gzip --file latchkey-0.1.0-linux-x64.tar.gz latchkey-0.1.0-linux-x64
    rm -r latchkey-0.1.0-linux-x64 latchkey
    sha256sum latchkey-0.1.0-linux-x64.tar.gz > SHA256SUMS`)
  expect(made.code, made.said).toBe(0)
}

/** What was brought back is the same server, which takes the same key. */
async function inOnceMore({ type }: Machine): Promise<void> {
  const token = "latchkey token --key automation.json --server https://id.example.com"
  const { code, said } = await type(token)
  expect(code, said).toBe(0)
}
