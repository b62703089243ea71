import { X509Certificate } from "node:crypto"
import { directoryServerOf } from "../../protocol/ldap-url.ts"
import { refusedError, shortText } from "./field.ts"
import type { DirectoryAttributes, Settings } from "./model.ts"

type Directory = Extract<Settings, { kind: "ldap" }>

const namesMax = 20
const secondsMax = 30
const certificateMax = 12_000

/** Refuses a directory that could not be asked, or not without others listening. */
export function checkDirectory(given: Directory): void {
  const { servers, startTls, rootCa, timeoutMs } = given
  some("servers", servers)
  for (const server of servers) serverAddress(server, startTls)
  shortText("base_dn", given.baseDn)
  shortText("bind_dn", given.bindDn)
  attribute("user_base", given.userBase)
  some("user_object_classes", given.userObjectClasses)
  for (const name of given.userObjectClasses) attribute("user_object_classes", name)
  some("user_filters", given.userFilters)
  for (const name of given.userFilters) attribute("user_filters", name)
  if (!(timeoutMs >= 1000 && timeoutMs <= secondsMax * 1000)) {
    throw refusedError("timeout", `must be between 1 and ${secondsMax} seconds`)
  }
  if (rootCa !== "" && !isCertificate(rootCa)) {
    throw refusedError("root_ca", "must be certificates in PEM, 12,000 bytes at most")
  }
  attributes(given.attributes)
}

function some(field: string, names: readonly string[]): void {
  if (names.length >= 1 && names.length <= namesMax) return
  throw refusedError(field, `must have 1 to ${namesMax} entries`)
}

/** Passwords go there: nobody else may read them on the way (RFC 4513 §6.3.4). */
function serverAddress(text: string, startTls: boolean): void {
  const server = text.length <= 200 ? directoryServerOf(text) : undefined
  if (!server) {
    throw refusedError("servers", "must be addresses such as ldaps://ldap.example.com:636")
  }
  const isLocal = /^(localhost|127(\.\d+){3}|::1)$/.test(server.host)
  if (server.isSecure || startTls || isLocal) return
  throw refusedError("servers", "must begin with ldaps://, unless start_tls is on")
}

/** RFC 4512 §1.4: a short name, or the dotted number that it stands for; with options (§2.5). */
function attribute(field: string, text: string): void {
  if (/^([a-z][a-z\d-]*|\d+(\.\d+)*)(;[a-z\d-]+)*$/i.test(text) && text.length <= 200) return
  throw refusedError(field, "must be names of the directory's schema, such as uid or mail")
}

function attributes(given: DirectoryAttributes): void {
  for (const name of Object.values(given)) {
    if (name !== "") attribute("attributes", name)
  }
}

function isCertificate(pem: string): boolean {
  if (pem.length > certificateMax) return false
  const each = pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? []
  try {
    return each.length > 0 && each.every((one) => new X509Certificate(one).publicKey !== undefined)
  } catch (cause) {
    if (cause instanceof Error) return false
    throw cause
  }
}
