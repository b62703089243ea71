import { spawn } from "node:child_process"
import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from "node:fs"
import { dirname, join } from "node:path"
import { binary, freePort, run } from "./latchkey.ts"

const docs = join(import.meta.dirname, "../../docs")

/** A code block of a page: commands, or a named file. */
export type Block = { readonly language: string; readonly file: string; readonly text: string }

/** The pages of docs/ by path, without those that a release generates. */
export const documentedPages: readonly string[] = readdirSync(docs, {
  recursive: true,
  encoding: "utf8",
})
  .filter((name) => name.endsWith(".md") && !isGenerated(name))
  .toSorted()

/** Pages that `scripts/reference.ts` writes; .gitignore lists them. */
export function isGenerated(page: string): boolean {
  return /^reference\/(?:api.*|commands|configuration|events|metrics)\.md$/.test(page)
}

/**
 * The code blocks of a Markdown page, in order: "```sh", "```yaml identity/wiki.yaml". Blocks in a
 * list are indented.
 */
export const blocksOf = (page: string): readonly Block[] =>
  [...page.matchAll(/^( *)```(\w*) ?(\S*)\n([\s\S]*?)^\1```$/gm)].map(
    ([, indent = "", language = "", file = "", text = ""]) => ({
      language,
      file,
      text: text.replaceAll(new RegExp(`^${indent}`, "gm"), ""),
    }),
  )

/** A simulated machine below a directory, with what the pages presuppose. */
export type Machine = {
  readonly root: string
  readonly work: string
  readonly data: string
  readonly url: string
  /** Runs the lines one after the other until one fails. */
  readonly run: (text: string) => Promise<{ readonly code: number | null; readonly said: string }>
  /** Stops everything that still runs. */
  readonly stop: () => Promise<unknown>
}

/** Replacements for programs that would change the real machine. */
const standIns: Readonly<Record<string, string>> = {
  sudo: 'exec "$@"',
  runuser: 'while [ "$1" != "--" ]; do shift; done; shift; exec "$@"',
  apt: "systemctl start latchkey",
  "systemd-sysusers": "",
  // Checks that its files exist; another test covers what it builds from them.
  docker: 'while [ $# -gt 0 ]; do [ "$1" != --file ] || [ -e "$2" ] || exit 1; shift; done',
  systemctl: `case "$1 $2" in
    "stop latchkey") ;;
    "start latchkey" | "restart latchkey") latchkey serve --data "$ROOT/var/lib/latchkey"; exit ;;
    "enable --now") latchkey serve --data "$ROOT/var/lib/latchkey"; exit ;;
    "daemon-reload "*) exit 0 ;;
    *) echo "systemctl $*?" >&2; exit 1 ;;
  esac
  latchkey --end`,
}

/** Servers run in the background of later commands, and replace each other. */
const backgroundScript = `end() {
  [ -e "$ROOT/pid" ] || return 0
  kill "$(cat "$ROOT/pid")" 2>/dev/null || true
  while kill -0 "$(cat "$ROOT/pid")" 2>/dev/null; do sleep 0.02; done
  rm "$ROOT/pid"
}
case "$1" in
  --end) end ;;
  serve | dev)
    end
    # Whoever develops has no settings in the environment.
    [ "$1" = serve ] || set -- "$@" --listen "$LATCHKEY_LISTEN" --grpc-listen "$GRPC_LISTEN"
    setsid "$BINARY" "$@" >"$ROOT/log" 2>&1 </dev/null &
    echo $! >"$ROOT/pid"
    for _ in $(seq 500); do
      for address in "http://$LATCHKEY_LISTEN" "https://$TLS_LISTEN"; do
        ! curl --insecure --fail --silent --output /dev/null "$address/debug/healthz" || exit 0
      done
      kill -0 $! 2>/dev/null || break
      sleep 0.02
    done
    cat "$ROOT/log" >&2
    exit 1 ;;
  *) exec "$BINARY" "$@" ;;
esac`

/** Creates a machine without a setup, in an empty directory. */
export async function createMachine(root: string): Promise<Machine> {
  const [port, grpc, tls, plain, metrics] = await Promise.all(Array.from({ length: 5 }, freePort))
  const bin = join(root, "bin")
  const work = join(root, "home")
  const data = join(root, "var/lib/latchkey")
  for (const name of ["bin", "home", "backup", "usr/bin", "etc/systemd/system", "etc/sysusers.d"]) {
    mkdirSync(join(root, name), { recursive: true })
  }
  mkdirSync(data, { recursive: true, mode: 0o700 })
  for (const [name, text] of Object.entries({ ...standIns, latchkey: backgroundScript })) {
    writeFileSync(join(bin, name), `#!/bin/bash\n${text}\n`)
    chmodSync(join(bin, name), 0o755)
  }
  symlinkSync(join(bin, "latchkey"), join(work, "latchkey"))
  symlinkSync(join(import.meta.dirname, "../../packaging"), join(work, "packaging"))
  const url = `http://localhost:${port}`
  const meant = (text: string) =>
    text
      .replace(/(?<=[\s=])\/(?=(?:var\/lib|backup|etc|usr\/bin)\b)/g, `${root}/`)
      .replaceAll("https://id.example.com", url)
      .replaceAll("http://localhost:8080", url)
      .replaceAll("127.0.0.1:9464", `127.0.0.1:${metrics}`)
      .replaceAll("--listen :443", `--listen 127.0.0.1:${tls}`)
      .replaceAll("--redirect-listen :80", `--redirect-listen 127.0.0.1:${plain}`)
  const env = {
    PATH: `${bin}:${process.env.PATH}`,
    HOME: work,
    ROOT: root,
    BINARY: binary,
    LATCHKEY_LISTEN: `127.0.0.1:${port}`,
    LATCHKEY_GRPC_LISTEN: `127.0.0.1:${grpc}`,
    GRPC_LISTEN: `127.0.0.1:${grpc}`,
    // Uses no public ACME authority.
    TLS_LISTEN: `127.0.0.1:${tls}`,
    LATCHKEY_ACME_DIRECTORY: "https://127.0.0.1:9/directory",
  }
  const type: Machine["run"] = (text) => {
    const script = ["-euxo", "pipefail", "-c", meant(text)]
    const child = spawn("bash", script, { cwd: work, env, stdio: ["ignore", "pipe", "pipe"] })
    let output = ""
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (part) => (output += part))
    return new Promise((done) => child.once("close", (code) => done({ code, said: output })))
  }
  return { root, work, data, url, run: type, stop: () => type("latchkey --end") }
}

/** Writes the file of a block at its path. */
export function writeBlock({ work }: Machine, { file, text }: Block): void {
  mkdirSync(dirname(join(work, file)), { recursive: true })
  writeFileSync(join(work, file), text)
}

/** Sets up the server as the setup page describes, and starts it. */
export async function setUpMachine({ work, data, url, run: type }: Machine): Promise<void> {
  writeFileSync(join(work, "passphrase"), "eight words that nobody will ever guess, really\n")
  writeFileSync(join(work, "owner"), "Correct-horse-7-battery\n")
  const made = await run([
    "setup",
    "--data",
    data,
    "--public-url",
    url,
    "--org",
    "Acme",
    "--owner",
    "ada@example.com",
    "--owner-email",
    "ada@example.com",
    "--owner-password-file",
    join(work, "owner"),
    "--service-key-file",
    join(work, "automation.json"),
  ])
  const started = await type("systemctl start latchkey")
  if (made.code !== 0 || started.code !== 0) throw new Error(made.output + started.said)
}

/** The output of the background server. */
export const logOf = ({ root }: Machine): string => readFileSync(join(root, "log"), "utf8")
