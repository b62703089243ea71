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

/** A block of a page: what is typed, or a file with its name. */
export type Block = { readonly language: string; readonly file: string; readonly text: string }

/** The pages of docs/, by their paths below it, without those that a release generates. */
export const documented: readonly string[] = readdirSync(docs, {
  recursive: true,
  encoding: "utf8",
})
  .filter((name) => name.endsWith(".md") && !isGenerated(name))
  .toSorted()

/** Pages that `scripts/reference.ts` writes; .gitignore has them. */
export function isGenerated(page: string): boolean {
  return /^reference\/(?:api.*|commands|configuration|events|metrics)\.md$/.test(page)
}

/**
 * The code blocks of a page in Markdown, in their order: "```sh", "```yaml identity/wiki.yaml".
 * Blocks in a list are indented.
 */
export const blocksOf = (page: string): readonly Block[] =>
  [...page.matchAll(/^( *)```(\w*) ?(\S*)\n([\s\S]*?)^\1```$/gm)].map(
    ([, indent = "", language = "", file = "", text = ""]) => ({
      language,
      file,
      text: text.replaceAll(new RegExp(`^${indent}`, "gm"), ""),
    }),
  )

/** A machine of its own below a folder, with what the pages take for granted. */
export type Machine = {
  readonly root: string
  readonly work: string
  readonly data: string
  readonly url: string
  /** Runs what is typed, each line in its turn until one fails. */
  readonly type: (text: string) => Promise<{ readonly code: number | null; readonly said: string }>
  /** Ends what was left running. */
  readonly end: () => Promise<unknown>
}

/** What stands in the place of programs that only a machine of one's own can be asked for. */
const standIns: Readonly<Record<string, string>> = {
  sudo: 'exec "$@"',
  runuser: 'while [ "$1" != "--" ]; do shift; done; shift; exec "$@"',
  apt: "systemctl start latchkey",
  "systemd-sysusers": "",
  // The files that it is given must be there; what it makes of them has a test of its own.
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

/** Servers go on behind what is typed next, and make room for each other. */
const behind = `end() {
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

/** Makes one, with nothing set up, in an empty folder. */
export async function machineIn(root: string): Promise<Machine> {
  const [port, grpc, tls, plain, metrics] = await Promise.all(Array.from({ length: 5 }, freePort))
  const bin = join(root, "bin")
  const work = join(root, "home")
  const data = join(root, "var/lib/latchkey")
  for (const name of ["bin", "home", "backup", "usr/bin", "etc/systemd/system", "etc/sysusers.d"]) {
    mkdirSync(join(root, name), { recursive: true })
  }
  mkdirSync(data, { recursive: true, mode: 0o700 })
  for (const [name, text] of Object.entries({ ...standIns, latchkey: behind })) {
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
    // No authority of the internet is asked.
    TLS_LISTEN: `127.0.0.1:${tls}`,
    LATCHKEY_ACME_DIRECTORY: "https://127.0.0.1:9/directory",
  }
  const type: Machine["type"] = (text) => {
    const script = ["-euxo", "pipefail", "-c", meant(text)]
    const child = spawn("bash", script, { cwd: work, env, stdio: ["ignore", "pipe", "pipe"] })
    let said = ""
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (part) => (said += part))
    return new Promise((done) => child.once("close", (code) => done({ code, said })))
  }
  return { root, work, data, url, type, end: () => type("latchkey --end") }
}

/** Writes a file of a page where it says. */
export function writeBlock({ work }: Machine, { file, text }: Block): void {
  mkdirSync(dirname(join(work, file)), { recursive: true })
  writeFileSync(join(work, file), text)
}

/** Sets it up, as somebody who has read the page on that has it, and starts it. */
export async function inUse({ work, data, url, type }: Machine): Promise<void> {
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

/** What the server that runs behind has said. */
export const logOf = ({ root }: Machine): string => readFileSync(join(root, "log"), "utf8")
