import { bindHandlers } from "../../../api/method.ts"
import { AdminService } from "../../../gen/core/admin/v1/admin_service_pb.ts"
import type { DataOrg, ImportDataRequest } from "../../../gen/core/admin/v1/data_pb.ts"
import { deadlineExceededError, fieldError } from "../../../kernel/fault.ts"
import type { Cx } from "../../../store/index.ts"
import { recordImport } from "../model.ts"
import { exportAll, requirePermission } from "./v1-export.ts"
import { createReport, type ImportReport, importOrgs } from "./v1-import.ts"
import { fromOlderFormat } from "./v1-line.ts"
import { exportTo, importFrom, sourceOf, targetOf } from "./v1-location.ts"

export const admin = bindHandlers<Cx>()(AdminService, {
  exportData: async (req, cx) => {
    const [isLate, place] = [createTimer(cx, req.timeout), targetOf(cx, req)]
    const { orgIds, excludedOrgIds, withPasswords, withOtp, withSecrets } = req
    const scope = {
      orgIds,
      excludedOrgIds,
      carried: { withPasswords, withOtp, withSecrets },
    }
    const pass = () => {
      if (isLate()) throw deadlineExceededError()
    }
    // A caller with read permission must not write files or objects.
    if (place) requirePermission(cx, "iam.write")
    if (place) await exportTo(cx, place, scope, pass)
    const isTold = !place || req.responseOutput
    return { orgs: isTold ? [...(await exportAll(cx, scope, pass))] : [] }
  },
  importData: async (req, cx) => {
    const [source, isLate] = [sourceOf(cx, req), createTimer(cx, req.timeout)]
    const { report, errors, orgs: taken, refusals } = createReport()
    const here = req.dryRun ? { ...cx, store: cx.store.rehearse() } : cx
    const orgs = source
      ? (await importFrom(here, source.place, { ...source, report, isLate })).orgs
      : await importInline(here, req, { report, isLate })
    const success = { orgs: taken() }
    if (!req.dryRun)
      await recordImport(cx, orgs, { taken: success.orgs.length, refused: refusals() })
    return { errors: [...errors()], success }
  },
})

async function importInline(
  cx: Cx,
  { data }: ImportDataRequest,
  options: { readonly report: ImportReport; readonly isLate: () => boolean },
): Promise<number> {
  const orgs = parseOrgs(data)
  await importOrgs(cx, orgs, { ...options, createdOrgs: new Set() })
  return orgs.length
}

function parseOrgs(data: ImportDataRequest["data"]): readonly DataOrg[] {
  if (data.case === "dataOrgs") return data.value.orgs
  if (data.case === "dataOrgsv1") return data.value.orgs.map(fromOlderFormat)
  throw fieldError("transfer.data_missing", "data_orgs", "is required")
}

const units = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 } as const
const duration = /^(?:\d+(?:\.\d+)?(?:ms|s|m|h))+$/

/** Whether the timeout of a request has expired; never without a timeout. */
function createTimer({ clock }: Cx, timeout: string): () => boolean {
  if (timeout === "") return () => false
  if (!duration.test(timeout)) {
    throw fieldError("transfer.timeout", "timeout", 'must be a duration such as "30s" or "5m"')
  }
  const parts = [...timeout.matchAll(/([\d.]+)(ms|s|m|h)/g)]
  const ms = parts.reduce((sum, [, count, unit]) => sum + Number(count) * unitOf(unit), 0)
  const until = clock.now() + ms
  return () => clock.now() >= until
}

const unitOf = (unit = "s"): number =>
  Object.entries(units).find(([name]) => name === unit)?.[1] ?? 0
