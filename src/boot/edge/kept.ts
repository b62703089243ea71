import { existsSync, readFileSync } from "node:fs"
import * as z from "zod/mini"
import type { Config } from "../../kernel/config.ts"
import type { Folder } from "../folder/folder.ts"
import { startError, systemCode } from "../start-error.ts"

// The certificates that the server gets by itself lie in one small file of the data folder: what is
// public in it as it is, so that others of our commands can look at it, and each key sealed.

/** A host's certificate. Times are ms UTC. */
const held = z.lazy(() =>
  z.object({
    host: z.string(),
    /** Who gave it: the address of an authority's directory, or `ownAuthority`. */
    by: z.string(),
    /** PEM, with those that lead to its root. */
    cert: z.string(),
    sealedKey: z.string(),
    /** When to get the next one. */
    renew: z.number(),
  }),
)

/** Why a host has no newer certificate, since its last one. */
const failure = z.lazy(() =>
  z.object({
    host: z.string(),
    by: z.string(),
    /** Times in a row. */
    count: z.int(),
    said: z.string(),
    /** When to try again. */
    next: z.number(),
  }),
)

/** What a device trusts to believe our own certificates of a host. */
const root = z.lazy(() => z.object({ host: z.string(), cert: z.string(), sealedKey: z.string() }))

const schema = z.lazy(() =>
  z.object({
    format: z.literal(1),
    /** With the authority of this directory. */
    accounts: z.array(z.object({ by: z.string(), sealedKey: z.string() })),
    held: z.array(held),
    roots: z._default(z.array(root), []),
    failures: z.array(failure),
  }),
)

export type Held = Readonly<z.output<typeof held>>
export type Root = Readonly<z.output<typeof root>>
export type Failure = Readonly<z.output<typeof failure>>
export type Kept = Readonly<z.output<typeof schema>>

/** Who gives the certificates that are our own. */
export const ownAuthority = "internal"

/** Who gives certificates, by the configuration. */
export const authorityOf = ({ tls, acmeDirectory }: Pick<Config, "tls" | "acmeDirectory">) =>
  tls === "internal" ? ownAuthority : acmeDirectory

type Asked = Pick<Config, "acmeChallenge" | "listen">

/** Where the authority looks, and what must be there. */
export const wayToUs = (config: Asked): string =>
  config.acmeChallenge === "http-01"
    ? "port 80 to --redirect-listen"
    : `port 443 to --listen${otherPort(config)}`

/** RFC 8737 §3: it is always 443; that another port is meant only they know who lead it here. */
export function portHint(config: Asked): string | undefined {
  const other = otherPort(config)
  return other ? `it comes to port 443, which must lead to --listen${other}` : undefined
}

const otherPort = ({ listen }: Asked): string =>
  "path" in listen || listen.port === 443 ? "" : `, at port ${listen.port}`

/** What was got so far. Refuses a file that is not one of ours, and changes nothing. */
export function readKept({ certificates: file }: Pick<Folder, "certificates">): Kept {
  if (!existsSync(file)) return { format: 1, accounts: [], held: [], roots: [], failures: [] }
  const read = schema.safeParse(parsed(file))
  if (read.success) return read.data
  throw keptError(file, "is not a list of certificates that this version can read")
}

function parsed(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, "utf8"))
  } catch (cause) {
    if (cause instanceof SyntaxError) return undefined
    throw keptError(file, `can't be read (${systemCode(cause)})`, cause)
  }
}

/** Why the file serves for nothing, and what to do. */
export const keptError = (file: string, because: string, cause?: unknown) =>
  startError("tls_unusable", `${file} ${because}; move it away, and new ones are got`, cause)
