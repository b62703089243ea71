import { spawn, spawnSync } from "node:child_process"
import { mkdirSync, writeFileSync } from "node:fs"
import { connect } from "node:net"
import { join } from "node:path"
import { freePort, temporaryFolder } from "./latchkey.ts"
import { certificate, certificateKey } from "./mail-certificate.ts"
import { needs } from "./prerequisite.ts"
import { until } from "./wait.ts"

/** A user of the directory, by attributes; `uid` names the entry. */
export type DirectoryPerson = { readonly uid: string } & Readonly<Record<string, string>>

export type Slapd = {
  readonly port: number
  readonly tlsPort: number
  readonly stop: () => Promise<void>
}

export const base = "dc=example,dc=com"
export const admin = { dn: `cn=admin,${base}`, password: "admin-secret" }

/** The host in its certificate. */
export const directoryHost = "mail.example.com"

/** Debian's LDAP server with these users, of which there can be many. */
export async function startSlapd(users: readonly DirectoryPerson[]): Promise<Slapd> {
  const binary = needs("slapd")
  if (!binary) throw new Error("no slapd on this machine")
  const folder = temporaryFolder()
  mkdirSync(join(folder.path, "db"))
  const write = (name: string, text: string) => writeFileSync(join(folder.path, name), text)
  write("tls.crt", certificate)
  write("tls.key", certificateKey)
  write("slapd.conf", configOf(folder.path))
  write("people.ldif", [ldifOf(base, root), ...users.map(entryOf)].join("\n"))
  const config = join(folder.path, "slapd.conf")
  const ldif = join(folder.path, "people.ldif")
  const added = spawnSync(binary, ["-Tadd", "-q", "-f", config, "-l", ldif], { encoding: "utf8" })
  if (added.status !== 0) throw new Error(`slapadd: ${added.stderr}`)
  const [port, tlsPort] = [await freePort(), await freePort()]
  const urls = `ldap://127.0.0.1:${port}/ ldaps://127.0.0.1:${tlsPort}/`
  const child = spawn(binary, ["-d", "0", "-f", config, "-h", urls])
  let output = ""
  child.stderr.on("data", (chunk) => (output += chunk))
  const exited = new Promise<void>((done) => child.once("exit", () => done()))
  const stop = async () => {
    child.kill("SIGTERM")
    await exited
    folder.remove()
  }
  const isThere = async () => (await Promise.all([port, tlsPort].map(isListening))).every(Boolean)
  try {
    await until(async () => (await isThere()) || child.exitCode !== null, {
      what: () => `slapd to start: ${output}`,
      limitMs: 60_000,
    })
    if (child.exitCode !== null) throw new Error(`slapd did not start: ${output}`)
  } catch (cause) {
    await stop()
    throw cause
  }
  return { port, tlsPort, stop }
}

/** The PID file exists before the server listens, so the port is polled. */
const isListening = (port: number): Promise<boolean> =>
  new Promise((done) => {
    const socket = connect(port, "127.0.0.1")
    const tell = (is: boolean) => {
      socket.destroy()
      done(is)
    }
    socket.once("connect", () => tell(true)).once("error", () => tell(false))
  })

const root = { objectClass: "domain", dc: "example" }

const entryOf = (person: DirectoryPerson): string =>
  // RFC 4514 §2.4
  ldifOf(`uid=${person.uid.replace(/[,+"\\<>;=]/g, "\\$&")},${base}`, {
    objectClass: "inetOrgPerson",
    ...person,
  })

function ldifOf(dn: string, values: Readonly<Record<string, string>>): string {
  // RFC 2849: base64 prevents line breaks in a value.
  const line = (name: string, value: string) =>
    `${name}:: ${Buffer.from(value).toString("base64")}\n`
  return (
    line("dn", dn) +
    Object.entries(values)
      .map((pair) => line(...pair))
      .join("")
  )
}

const configOf = (folder: string): string => `
include /etc/ldap/schema/core.schema
include /etc/ldap/schema/cosine.schema
include /etc/ldap/schema/inetorgperson.schema
modulepath /usr/lib/ldap
moduleload back_mdb
pidfile ${folder}/slapd.pid
TLSCertificateFile ${folder}/tls.crt
TLSCertificateKeyFile ${folder}/tls.key
TLSVerifyClient never
disallow bind_anon
database mdb
suffix "${base}"
rootdn "${admin.dn}"
rootpw ${admin.password}
directory ${folder}/db
maxsize 268435456
dbnosync
index objectClass,uid,mail eq
access to attrs=userPassword by anonymous auth by * none
access to * by * read
`
