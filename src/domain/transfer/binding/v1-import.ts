import { create, fromBinary, type MessageInitShape, toBinary } from "@bufbuild/protobuf"
import {
  type DataOrg,
  DataOrgSchema,
  type ImportDataErrorSchema,
  ImportDataSuccessOrgSchema,
} from "../../../gen/core/admin/v1/data_pb.ts"
import { OrgState } from "../../../gen/core/org/v1/org_pb.ts"
import { Fault } from "../../../kernel/fault.ts"
import type { Cx } from "../../../store/index.ts"
import { orgExists } from "../../org/index.ts"
import { describeFault, isServerFault } from "../fault.ts"
import { requirePermission } from "./v1-export.ts"
import type { Field, ImportItem, ItemKind, Success } from "./v1-item-kind.ts"
import { itemKinds } from "./v1-item-kinds.ts"
import { isInactive } from "./v1-org.ts"

/** An item that could not be imported or already exists. */
export type FailedItem = MessageInitShape<typeof ImportDataErrorSchema> & {
  readonly type: string
  readonly orgId: string
  readonly id: string
  readonly message: string
}

/** Receives the result of each item. */
export type ImportReport = {
  readonly taken: (orgId: string, success: Success) => void
  readonly refused: (failed: FailedItem) => void
}

/** The number of items written concurrently, which share the cost of disk syncs. */
const concurrentItems = 8

/**
 * Imports organizations kind by kind. Each item has its own step: failed items are reported, and
 * the import continues. Existing data is not changed. `isLate` is checked before each item; later
 * items are reported as not imported. `made` contains the organizations that this import has
 * created.
 */
export async function importOrgs(
  cx: Cx,
  orgs: readonly DataOrg[],
  options: ImportOptions,
): Promise<void> {
  const stopped = new Set(orgs.filter(isInactive).map(({ orgId }) => orgId))
  /** The data of one organization can be in several places. */
  const stoppedWith = (org: DataOrg): DataOrg =>
    stopped.has(org.orgId) ? { ...org, orgState: OrgState.INACTIVE } : org
  for (const row of itemKinds) {
    for (const org of orgs) {
      const items = row.itemsOf(row.field === "org" ? stoppedWith(org) : org)
      if (items.length > 0)
        await importRow({ ...cx, orgId: org.orgId }, row, { ...options, takings: items })
    }
  }
}

type ImportOptions = {
  readonly report: ImportReport
  readonly isLate: () => boolean
  readonly createdOrgs: Set<string>
}

type OrgCx = Cx & { readonly orgId: string }

async function importRow(
  cx: OrgCx,
  row: ItemKind,
  { takings: items, ...options }: ImportOptions & { readonly takings: readonly ImportItem[] },
): Promise<void> {
  const lanes = Map.groupBy(items, ({ lane }) => lane)
  const queue = [...lanes.values()].values()
  const run = async () => {
    for (const lane of queue)
      for (const item of lane) await importItem(cx, row, { ...options, taking: item })
  }
  await Promise.all(Array.from({ length: Math.min(concurrentItems, lanes.size) }, run))
}

async function importItem(
  cx: OrgCx,
  { field, needs, onlyNewOrgs }: ItemKind,
  { taking: item, report, isLate, createdOrgs }: ImportOptions & { readonly taking: ImportItem },
): Promise<void> {
  const { orgId } = cx
  try {
    if (isLate()) throw timeLimitError()
    for (const permission of needs.write) requirePermission(cx, permission)
    if (field !== "org" && !orgExists(cx, orgId)) throw orgNotCreatedError()
    if (onlyNewOrgs && !createdOrgs.has(orgId)) throw orgExistsError()
    await item.write(cx)
    if (field === "org") createdOrgs.add(orgId)
    report.taken(orgId, item.success)
  } catch (cause) {
    // A disk error or a bug is not caused by the data, so the import stops.
    if (!(cause instanceof Fault) || isServerFault(cause)) throw cause
    report.refused({ type: nameOf(field), orgId, id: item.id, message: describeFault(cause) })
  }
}

/** The name of the field on the wire. */
export const nameOf = (field: Field): string => DataOrgSchema.field[field].name

/** The number of reported items; a completely invalid file would report every line. */
const failuresMax = 1000

/**
 * Collects the report for a response; only the first failed items are listed, the others are
 * counted.
 */
export function createReport() {
  const stored: FailedItem[] = []
  let refusals = 0
  const parts = new Map<string, Uint8Array[]>()
  const report: ImportReport = {
    refused: (failed) => {
      refusals++
      if (stored.length < failuresMax) stored.push(failed)
    },
    taken: (orgId, success) => {
      const known = parts.get(orgId) ?? []
      if (known.length === 0) parts.set(orgId, known)
      const message = create(ImportDataSuccessOrgSchema, success)
      known.push(toBinary(ImportDataSuccessOrgSchema, message))
    },
  }
  const orgs = () =>
    [...parts].map(([orgId, each]) => ({
      ...fromBinary(ImportDataSuccessOrgSchema, Buffer.concat(each)),
      orgId,
    }))
  const errors = () => {
    const more = refusals - stored.length
    return more === 0 ? stored : [...stored, omittedFailures(more)]
  }
  return { report, errors, orgs, refusals: () => refusals }
}

const omittedFailures = (count: number): FailedItem => ({
  type: "more",
  orgId: "",
  id: `${count}`,
  message: `${count} more could not be imported; fix the listed ones and import again`,
})

const timeLimitError = () =>
  new Fault(
    "deadline_exceeded",
    "transfer.late",
    "the time limit was reached before this item was imported",
  )

const orgExistsError = () =>
  new Fault(
    "already_exists",
    "transfer.exists",
    "the organization already exists, so the import does not change its state",
  )

const orgNotCreatedError = () =>
  new Fault("not_found", "org.missing", "the organization does not exist and could not be created")
