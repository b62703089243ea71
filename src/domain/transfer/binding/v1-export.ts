import { setImmediate as nextTurn } from "node:timers/promises"
import { create, fromBinary, toBinary, toJsonString } from "@bufbuild/protobuf"
import { type DataOrg, DataOrgSchema } from "../../../gen/core/admin/v1/data_pb.ts"
import { Fault } from "../../../kernel/fault.ts"
import type { Cx } from "../../../store/index.ts"
import { isOrgThere } from "../../org/index.ts"
import { orgIds } from "../list.ts"
import { type Carried, noteExport } from "../model.ts"
import { rows } from "./v1-rows.ts"

/** What is to be told of whom. */
export type Wanted = {
  /** All where it is empty. */
  readonly orgIds: readonly string[]
  readonly excludedOrgIds: readonly string[]
  readonly carried: Carried
}

/**
 * Tells organisations piece by piece, each an organisation with one thing in it, in the order in
 * which they can be taken over; `pass` is asked before each. Faults where the caller may not read
 * all of it. The log keeps who took what.
 */
export async function* piecesOf(
  cx: Cx,
  wanted: Wanted,
  pass: () => Promise<void> | void,
): AsyncGenerator<DataOrg> {
  for (const { needs } of rows) mustHold(cx, needs.read)
  const { carried } = wanted
  if (Object.values(carried).some(Boolean)) mustReachEverybody(cx)
  const orgs = chosenOf(cx, wanted)
  await noteExport(cx, carried, orgs.length)
  const step = pausing()
  for (const { read } of rows) {
    for (const orgId of orgs) {
      await step()
      for await (const piece of read({ ...cx, orgId }, orgId, carried)) {
        await step()
        await pass()
        yield create(DataOrgSchema, { ...piece, orgId })
      }
    }
  }
}

/** Things that are told, and organisations that are looked at, before others have their turn. */
const stepsAtOnce = 20

/** Counts steps, and lets others have their turn. */
function pausing(): () => Promise<void> {
  let steps = 0
  return async () => {
    if (++steps % stepsAtOnce === 0) await nextTurn()
  }
}

/** What the process itself asks nobody has to permit. */
export function mustHold({ caller, holds }: Cx, permission: string): void {
  if (caller.kind === "system" || holds?.(permission)) return
  const message = `this needs the permission ${permission}`
  throw new Fault("permission_denied", "access.denied", message)
}

/** Whoever is told how people prove who they are can act as any of them. */
function mustReachEverybody(cx: Cx): void {
  mustHold(cx, "iam.write")
  if (cx.caller.kind === "system" || cx.outranksInstance?.()) return
  const message = "this carries credentials of people who have permissions that you lack"
  throw new Fault("permission_denied", "instance.outranks_you", message)
}

function chosenOf(cx: Cx, { orgIds: named, excludedOrgIds }: Wanted): readonly string[] {
  const missing = named.find((id) => !isOrgThere(cx, id))
  if (missing !== undefined) {
    const message = `there is no organisation ${JSON.stringify(missing)}`
    throw new Fault("not_found", "org.missing", message)
  }
  const all = named.length > 0 ? [...new Set(named)] : orgIds(cx)
  return all.filter((id) => !excludedOrgIds.includes(id))
}

/** As much as the body of an import may have, in bytes of JSON and in things. */
export const inline = { bytes: 1024 * 1024, things: 1000 } as const

/** All of it at once. Faults where it is more than an import could take in one request. */
export async function wholeOf(
  cx: Cx,
  wanted: Wanted,
  pass: () => void,
): Promise<readonly DataOrg[]> {
  const parts = new Map<string, Uint8Array[]>()
  let bytes = 0
  let things = 0
  for await (const piece of piecesOf(cx, wanted, pass)) {
    bytes += Buffer.byteLength(toJsonString(DataOrgSchema, piece))
    if (bytes > inline.bytes || ++things > inline.things) throw tooLargeError()
    const known = parts.get(piece.orgId) ?? []
    if (known.length === 0) parts.set(piece.orgId, known)
    known.push(toBinary(DataOrgSchema, piece))
  }
  // Protocol Buffers Encoding, "Last One Wins": parts of a message in a row are that message.
  return [...parts.values()].map((each) => fromBinary(DataOrgSchema, Buffer.concat(each)))
}

const tooLargeError = () =>
  new Fault(
    "resource_exhausted",
    "transfer.too_large",
    `this is more than an answer may have (${inline.bytes} bytes, ${inline.things} things): ` +
      "name fewer organisations in org_ids, or run latchkey export on the server",
  )
