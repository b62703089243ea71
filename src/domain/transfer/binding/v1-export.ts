import { setImmediate as nextTurn } from "node:timers/promises"
import { create, fromBinary, toBinary, toJsonString } from "@bufbuild/protobuf"
import { type DataOrg, DataOrgSchema } from "../../../gen/core/admin/v1/data_pb.ts"
import { Fault } from "../../../kernel/fault.ts"
import type { Cx } from "../../../store/index.ts"
import { orgExists } from "../../org/index.ts"
import { orgIds } from "../list.ts"
import { type IncludedSecrets, recordExport } from "../model.ts"
import { itemKinds } from "./v1-item-kinds.ts"

/** The scope of an export. */
export type ExportScope = {
  /** All organizations if empty. */
  readonly orgIds: readonly string[]
  readonly excludedOrgIds: readonly string[]
  readonly carried: IncludedSecrets
}

/**
 * Yields the data of organizations in pieces, each an organization with one item, in the order
 * required by an import; `pass` is called before each. Throws if the caller can't read all of it.
 * The export is recorded in the log.
 */
export async function* exportPieces(
  cx: Cx,
  scope: ExportScope,
  onStep: () => Promise<void> | void,
): AsyncGenerator<DataOrg> {
  for (const { needs } of itemKinds) requirePermission(cx, needs.read)
  const { carried } = scope
  if (Object.values(carried).some(Boolean)) requireHighestRank(cx)
  const orgs = selectOrgs(cx, scope)
  await recordExport(cx, carried, orgs.length)
  const step = createYielder()
  for (const { read } of itemKinds) {
    for (const orgId of orgs) {
      await step()
      for await (const piece of read({ ...cx, orgId }, orgId, carried)) {
        await step()
        await onStep()
        yield create(DataOrgSchema, { ...piece, orgId })
      }
    }
  }
}

/** The number of items and organizations that are processed before other tasks run. */
const stepsPerTurn = 20

/** Counts steps and yields to other tasks at intervals. */
function createYielder(): () => Promise<void> {
  let steps = 0
  return async () => {
    if (++steps % stepsPerTurn === 0) await nextTurn()
  }
}

/** Internal calls need no permission. */
export function requirePermission({ caller, holds }: Cx, permission: string): void {
  if (caller.kind === "system" || holds?.(permission)) return
  const message = `permission denied: ${permission} is required`
  throw new Fault("permission_denied", "access.denied", message)
}

/** Anyone who has the credentials of all users can act as any of them. */
function requireHighestRank(cx: Cx): void {
  requirePermission(cx, "iam.write")
  if (cx.caller.kind === "system" || cx.outranksInstance?.()) return
  const message =
    "permission denied: the export contains credentials of users who have permissions that " +
    "you lack"
  throw new Fault("permission_denied", "instance.outranks_you", message)
}

function selectOrgs(cx: Cx, { orgIds: named, excludedOrgIds }: ExportScope): readonly string[] {
  const missing = named.find((id) => !orgExists(cx, id))
  if (missing !== undefined) {
    const message = `organization ${JSON.stringify(missing)} not found`
    throw new Fault("not_found", "org.missing", message)
  }
  const all = named.length > 0 ? [...new Set(named)] : orgIds(cx)
  return all.filter((id) => !excludedOrgIds.includes(id))
}

/** The maximum size of an import request, in bytes of JSON and in items. */
export const inlineMax = { bytes: 1024 * 1024, things: 1000 } as const

/** The complete export. Throws if it exceeds the size of one import request. */
export async function exportAll(
  cx: Cx,
  scope: ExportScope,
  onStep: () => void,
): Promise<readonly DataOrg[]> {
  const parts = new Map<string, Uint8Array[]>()
  let bytes = 0
  let things = 0
  for await (const piece of exportPieces(cx, scope, onStep)) {
    bytes += Buffer.byteLength(toJsonString(DataOrgSchema, piece))
    if (bytes > inlineMax.bytes || ++things > inlineMax.things) throw tooLargeError()
    const known = parts.get(piece.orgId) ?? []
    if (known.length === 0) parts.set(piece.orgId, known)
    known.push(toBinary(DataOrgSchema, piece))
  }
  // Protocol Buffers Encoding, "Last One Wins": concatenated parts of a message are merged.
  return [...parts.values()].map((each) => fromBinary(DataOrgSchema, Buffer.concat(each)))
}

const tooLargeError = () =>
  new Fault(
    "resource_exhausted",
    "transfer.too_large",
    `the export exceeds the limits of a response (${inlineMax.bytes} bytes, ${inlineMax.things} ` +
      "items); name fewer organizations in org_ids, or run latchkey export on the server",
  )
