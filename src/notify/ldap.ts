import { isIP, connect as plainSocket, type Socket } from "node:net"
import { type ConnectionOptions, connect as secureSocket } from "node:tls"
import type { Client, Entry } from "ldapts"
import { reasonText } from "../kernel/fault.ts"
import { lazily } from "../kernel/lazy.ts"
import type {
  Directories,
  DirectoryEntry,
  DirectoryPlace,
  DirectoryProof,
  DirectorySearch,
} from "../kernel/port/directory.ts"
import { directoryServerOf } from "../protocol/ldap-url.ts"
import { traced } from "../runtime/trace.ts"
import { addressOf, type MayReach, type OutboundParts, reachable } from "./outbound.ts"

type Parts = Omit<OutboundParts, "send">

/** All that the servers of one directory may take together, and all that one may send. */
const timeMaxMs = 30_000
const sizeMax = 1_048_576

const loadLdap = lazily(() => import("ldapts"))

/**
 * Asks LDAP servers that somebody entered: guarded as every way out is. One question is one
 * connection. The library is loaded with the first.
 */
export function directoriesOf(parts: Parts): Directories {
  const mayReach = reachable(parts.allow)
  return {
    find: (search) =>
      traced("directory", () => atAny(parts, mayReach, search)((client) => found(client, search))),
    prove: async (place, proof) => {
      // RFC 4513 §5.1.2: a server takes an empty password for no password, and lets anybody in.
      if (proof.password === "" || !isBindName(proof.name)) return false
      const ask = atAny(parts, mayReach, place)
      return traced("directory", () => ask((client) => isLetIn(client, proof)))
    },
  }
}

type Ask<T> = (client: Client) => Promise<T>

/** Asks each server until one can be asked; what that one says counts. */
const atAny =
  (parts: Parts, mayReach: MayReach, place: DirectoryPlace) =>
  async <T>(ask: Ask<T>): Promise<T> => {
    const until = parts.clock.now() + timeMaxMs
    const troubles: string[] = []
    for (const text of place.servers) {
      const timeoutMs = Math.min(place.timeoutMs, until - parts.clock.now())
      if (timeoutMs <= 0) break
      try {
        return await atOne(parts, mayReach, { ...place, servers: [text], timeoutMs })(ask)
      } catch (cause) {
        troubles.push(`${text}: ${reasonText(cause)}`)
      }
    }
    throw new Error(troubles.join("; "))
  }

const atOne =
  ({ resolve, clock }: Parts, mayReach: MayReach, place: DirectoryPlace) =>
  async <T>(ask: Ask<T>): Promise<T> => {
    const { servers, startTls, rootCa, timeoutMs } = place
    const server = directoryServerOf(servers[0] ?? "")
    if (!server) throw new Error("it is not an address of a directory")
    const sockets: Socket[] = []
    const late = Promise.withResolvers<never>()
    const timer = clock.after(timeoutMs, () => {
      late.reject(new Error(`there was no answer within ${timeoutMs / 1000} seconds`))
    })
    const work = async (): Promise<T> => {
      const { Client } = await loadLdap()
      const address = await addressOf(resolve, server.host, mayReach)
      const tls = tlsOf(server.host, address, rootCa)
      const authority = `${isIP(address) === 6 ? `[${address}]` : address}:${server.port}`
      const client = new Client({
        url: `${server.isSecure ? "ldaps" : "ldap"}://${authority}`,
        ...(server.isSecure && { tlsOptions: tls }),
        ...waysIn(sockets),
      })
      if (startTls && !server.isSecure) await client.startTLS(tls)
      return ask(client)
    }
    try {
      return await Promise.race([work(), late.promise])
    } finally {
      timer.stop()
      for (const socket of sockets) end(socket)
    }
  }

/** Who answers must be who was entered, also where the connection goes to an address. */
const tlsOf = (host: string, address: string, rootCa: string): ConnectionOptions => ({
  host: address,
  minVersion: "TLSv1.2",
  ...(rootCa !== "" && { ca: rootCa }),
  ...(isIP(host) === 0 && { servername: host }),
})

/** How the library connects: each socket is noted, and none may bring more than fits. */
function waysIn(sockets: Socket[]) {
  let size = 0
  const count = function (this: Socket, chunk: Uint8Array): void {
    size += chunk.byteLength
    if (size > sizeMax) this.destroy(new Error(`the answer is larger than ${sizeMax} bytes`))
  }
  const noted = (socket: Socket): Socket => {
    // What TLS is put on speaks through that from then on.
    for (const before of sockets) before.off("data", count)
    sockets.push(socket)
    return socket.on("data", count)
  }
  return {
    createConnection: new Proxy(plainSocket, {
      apply: (connect, self, given) => noted(Reflect.apply(connect, self, given)),
    }),
    createSecureConnection: new Proxy(secureSocket, {
      apply: (connect, self, given) => noted(Reflect.apply(connect, self, given)),
    }),
  }
}

/** What a socket that is given up still reports is nobody's any more. */
function end(socket: Socket): void {
  socket.on("error", () => undefined)
  socket.destroy()
}

async function found(client: Client, search: DirectorySearch): Promise<DirectoryEntry | undefined> {
  const { bindDn, bindPassword, baseDn, objectClasses, filters, name: value } = search
  const { AndFilter, EqualityFilter, OrFilter } = await loadLdap()
  if (bindPassword === "" || !isBindName(bindDn)) throw new Error("no password to bind with is set")
  await client.bind(bindDn, bindPassword)
  const isOfClass = objectClasses.map(
    (each) => new EqualityFilter({ attribute: "objectClass", value: each }),
  )
  // The name is a value of the request, never a part of a filter's text: nothing in it can escape.
  const isNamed = filters.map((attribute) => new EqualityFilter({ attribute, value }))
  const { searchEntries } = await client.search(baseDn, {
    scope: "sub",
    derefAliases: "never",
    filter: new AndFilter({ filters: [...isOfClass, new OrFilter({ filters: isNamed })] }),
    attributes: search.attributes.map(spelling),
    explicitBufferAttributes: [...binary.values()],
    // Two say as well as a thousand that it is nobody in particular.
    sizeLimit: 2,
  })
  const [only, ...others] = searchEntries
  return only && others.length === 0 ? entryOf(only) : undefined
}

/** Ids that are bytes, as the directories that have them spell them. */
const binary = new Map(
  ["objectGUID", "objectSid", "GUID"].map((name) => [name.toLowerCase(), name]),
)

const spelling = (attribute: string): string => binary.get(attribute.toLowerCase()) ?? attribute

function entryOf({ dn, ...given }: Entry): DirectoryEntry {
  const values = Object.entries(given).map(([name, value]) => {
    const all = (Array.isArray(value) ? value : [value]).map((each) =>
      typeof each === "string" ? each : each.toString("hex"),
    )
    // Bytes that are no text have lost what told them apart: they say nothing.
    return [name.toLowerCase(), all.filter((each) => !each.includes("\u{FFFD}"))] as const
  })
  return { dn, values: Object.fromEntries(values) }
}

/**
 * A distinguished name, or what Active Directory takes instead. The library takes the name of a
 * SASL mechanism for that mechanism, and a server an empty name for nobody.
 */
const isBindName = (name: string): boolean => /[=@\\]/.test(name)

async function isLetIn(client: Client, { name, password }: DirectoryProof): Promise<boolean> {
  const { ResultCodeError } = await loadLdap()
  try {
    await client.bind(name, password)
    return true
  } catch (cause) {
    if (cause instanceof ResultCodeError && refusals.has(cause.code)) return false
    throw cause
  }
}

/**
 * RFC 4511 appendix A.1: constraintViolation, noSuchObject, invalidDNSyntax,
 * inappropriateAuthentication, invalidCredentials, insufficientAccessRights, unwillingToPerform.
 * The directory has decided; another server is not asked to decide otherwise.
 */
const refusals: ReadonlySet<number> = new Set([19, 32, 34, 48, 49, 50, 53])
