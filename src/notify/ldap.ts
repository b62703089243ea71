import { isIP, connect as plainSocket, type Socket } from "node:net"
import { type ConnectionOptions, connect as secureSocket } from "node:tls"
import type { Client, Entry } from "ldapts"
import { errorText } from "../kernel/fault.ts"
import { loadOnce } from "../kernel/lazy.ts"
import type {
  Directories,
  DirectoryConnection,
  DirectoryCredentials,
  DirectoryEntry,
  DirectorySearch,
} from "../kernel/port/directory.ts"
import { parseLdapUrl } from "../protocol/ldap-url.ts"
import { trace } from "../runtime/trace.ts"
import {
  createAddressCheck,
  type OutboundParts,
  type ReachCheck,
  resolveAddress,
} from "./outbound.ts"

type LdapParts = Omit<OutboundParts, "send">

/** The limits for all servers of a directory: total time, and bytes per response. */
const timeMaxMs = 30_000
const sizeMax = 1_048_576

const loadLdap = loadOnce(() => import("ldapts"))

/**
 * A client for user-configured LDAP servers with outbound restrictions. One connection per query.
 * The library is loaded on first use.
 */
export function createDirectories(parts: LdapParts): Directories {
  const isReachable = createAddressCheck(parts.allow)
  return {
    find: (search) =>
      trace("directory", () =>
        tryServers(parts, isReachable, search)((client) => findEntry(client, search)),
      ),
    authenticate: async (configuredServer, proof) => {
      // RFC 4513 §5.1.2: a server treats a bind with an empty password as anonymous and accepts it.
      if (proof.password === "" || !isBindName(proof.name)) return false
      const query = tryServers(parts, isReachable, configuredServer)
      return trace("directory", () => query((client) => verifyBind(client, proof)))
    },
  }
}

type DirectoryQuery<T> = (client: Client) => Promise<T>

/** Tries the servers in order until one responds; its response is final. */
const tryServers =
  (parts: LdapParts, isReachable: ReachCheck, configuredServer: DirectoryConnection) =>
  async <T>(query: DirectoryQuery<T>): Promise<T> => {
    const until = parts.clock.now() + timeMaxMs
    const troubles: string[] = []
    for (const text of configuredServer.servers) {
      const timeoutMs = Math.min(configuredServer.timeoutMs, until - parts.clock.now())
      if (timeoutMs <= 0) break
      try {
        return await connectTo(parts, isReachable, {
          ...configuredServer,
          servers: [text],
          timeoutMs,
        })(query)
      } catch (cause) {
        troubles.push(`${text}: ${errorText(cause)}`)
      }
    }
    throw new Error(troubles.join("; "))
  }

const connectTo =
  ({ resolve, clock }: LdapParts, isReachable: ReachCheck, configuredServer: DirectoryConnection) =>
  async <T>(query: DirectoryQuery<T>): Promise<T> => {
    const { servers, startTls, rootCa, timeoutMs } = configuredServer
    const server = parseLdapUrl(servers[0] ?? "")
    if (!server) throw new Error("the URL is not an LDAP URL")
    const sockets: Socket[] = []
    const late = Promise.withResolvers<never>()
    const timer = clock.after(timeoutMs, () => {
      late.reject(new Error(`no response within ${timeoutMs / 1000} seconds`))
    })
    const work = async (): Promise<T> => {
      const { Client } = await loadLdap()
      const address = await resolveAddress(resolve, server.host, isReachable)
      const tls = tlsOptionsOf(server.host, address, rootCa)
      const authority = `${isIP(address) === 6 ? `[${address}]` : address}:${server.port}`
      const client = new Client({
        url: `${server.isSecure ? "ldaps" : "ldap"}://${authority}`,
        ...(server.isSecure && { tlsOptions: tls }),
        ...createConnectors(sockets),
      })
      if (startTls && !server.isSecure) await client.startTLS(tls)
      return query(client)
    }
    try {
      return await Promise.race([work(), late.promise])
    } finally {
      timer.stop()
      for (const socket of sockets) end(socket)
    }
  }

/**
 * The certificate must match the configured host name even though the connection uses the resolved
 * address.
 */
const tlsOptionsOf = (host: string, address: string, rootCa: string): ConnectionOptions => ({
  host: address,
  minVersion: "TLSv1.2",
  ...(rootCa !== "" && { ca: rootCa }),
  ...(isIP(host) === 0 && { servername: host }),
})

/**
 * The connection functions for the library: they record each socket and limit the received bytes.
 */
function createConnectors(sockets: Socket[]) {
  let size = 0
  const count = function (this: Socket, chunk: Uint8Array): void {
    size += chunk.byteLength
    if (size > sizeMax) this.destroy(new Error(`the response is larger than ${sizeMax} bytes`))
  }
  const track = (socket: Socket): Socket => {
    // A TLS socket reads from the underlying one.
    for (const before of sockets) before.off("data", count)
    sockets.push(socket)
    return socket.on("data", count)
  }
  return {
    createConnection: new Proxy(plainSocket, {
      apply: (connect, self, input) => track(Reflect.apply(connect, self, input)),
    }),
    createSecureConnection: new Proxy(secureSocket, {
      apply: (connect, self, input) => track(Reflect.apply(connect, self, input)),
    }),
  }
}

/** Ignores later errors of a destroyed socket. */
function end(socket: Socket): void {
  socket.on("error", () => undefined)
  socket.destroy()
}

async function findEntry(
  client: Client,
  search: DirectorySearch,
): Promise<DirectoryEntry | undefined> {
  const { bindDn, bindPassword, baseDn, objectClasses, filters, name: value } = search
  const { AndFilter, EqualityFilter, OrFilter } = await loadLdap()
  if (bindPassword === "" || !isBindName(bindDn)) throw new Error("the bind password is not set")
  await client.bind(bindDn, bindPassword)
  const isOfClass = objectClasses.map(
    (each) => new EqualityFilter({ attribute: "objectClass", value: each }),
  )
  // The name is a value of the request, not part of a filter text, so it needs no escaping.
  const isNamed = filters.map((attribute) => new EqualityFilter({ attribute, value }))
  const { searchEntries } = await client.search(baseDn, {
    scope: "sub",
    derefAliases: "never",
    filter: new AndFilter({ filters: [...isOfClass, new OrFilter({ filters: isNamed })] }),
    attributes: search.attributes.map(attributeName),
    explicitBufferAttributes: [...binaryIds.values()],
    // Two results are enough to detect an ambiguous name.
    sizeLimit: 2,
  })
  const [only, ...others] = searchEntries
  return only && others.length === 0 ? toEntry(only) : undefined
}

/** Binary IDs, in the spelling of the directories that have them. */
const binaryIds = new Map(
  ["objectGUID", "objectSid", "GUID"].map((name) => [name.toLowerCase(), name]),
)

const attributeName = (attribute: string): string =>
  binaryIds.get(attribute.toLowerCase()) ?? attribute

function toEntry({ dn, ...input }: Entry): DirectoryEntry {
  const values = Object.entries(input).map(([name, value]) => {
    const all = (Array.isArray(value) ? value : [value]).map((each) =>
      typeof each === "string" ? each : each.toString("hex"),
    )
    // Values that are not valid text are ambiguous and therefore ignored.
    return [name.toLowerCase(), all.filter((each) => !each.includes("\u{FFFD}"))] as const
  })
  return { dn, values: Object.fromEntries(values) }
}

/**
 * A distinguished name or a form that Active Directory accepts. The library interprets names of
 * SASL mechanisms, and a server treats an empty name as anonymous.
 */
const isBindName = (name: string): boolean => /[=@\\]/.test(name)

async function verifyBind(
  client: Client,
  { name, password }: DirectoryCredentials,
): Promise<boolean> {
  const { ResultCodeError } = await loadLdap()
  try {
    await client.bind(name, password)
    return true
  } catch (cause) {
    if (cause instanceof ResultCodeError && rejectionCodes.has(cause.code)) return false
    throw cause
  }
}

/**
 * RFC 4511 appendix A.1: constraintViolation, noSuchObject, invalidDNSyntax,
 * inappropriateAuthentication, invalidCredentials, insufficientAccessRights, unwillingToPerform.
 * These are decisions of the directory, so no other server is tried.
 */
const rejectionCodes: ReadonlySet<number> = new Set([19, 32, 34, 48, 49, 50, 53])
