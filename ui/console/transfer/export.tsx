import { toJson } from "@bufbuild/protobuf"
import { useState } from "react"
import { AdminService } from "../../../src/gen/core/admin/v1/admin_service_pb.ts"
import { DataOrgSchema } from "../../../src/gen/core/admin/v1/data_pb.ts"
import { OrganizationService } from "../../../src/gen/core/org/v2/organization_service_pb.ts"
import { Alert, Button, Checks, SelectField, Table } from "../../kit/index.ts"
import {
  call,
  RefusalAlert,
  refusalOf,
  refusalText,
  Section,
  saveFile,
  t,
  useAction,
  useIsPermitted,
  useOrganizations,
} from "../shell/index.ts"
import { Progress, type TransferProgress } from "./progress.tsx"

const secretOptions = ["withPasswords", "withOtp", "withSecrets"] as const

/** An organization that is missing in the file, with the reason. */
type SkippedOrganization = { readonly id: string; readonly name: string; readonly reason: string }
type ExportResult = { readonly count: number; readonly skipped: readonly SkippedOrganization[] }

/**
 * Exports one organization or all, one request each; organizations that are too large are reported.
 */
export function ExportSection() {
  const offered = useOrganizations()
  const may = useIsPermitted()
  const [only, setOnly] = useState("")
  const [includedSecrets, setCarried] = useState<readonly (typeof secretOptions)[number][]>([])
  const [progress, setStanding] = useState<TransferProgress>()
  const [written, setWritten] = useState<ExportResult>()
  const action = useAction(async () => {
    setWritten(undefined)
    const chosen = offered.filter(({ id }) => id === only)
    const organizations = only === "" ? await listOrganizations() : chosen
    return exportToFile(organizations, includedSecrets, setStanding)
  }, setWritten)
  const all = { value: "", label: t("transfer.all") }
  return (
    <Section title={t("transfer.export.title")}>
      <div className="stack">
        <SelectField
          label={t("transfer.which")}
          value={only}
          options={[all, ...offered.map(({ id, name }) => ({ value: id, label: name }))]}
          onChange={setOnly}
        />
        {may(AdminService.method.importData) && (
          <Checks
            legend={t("transfer.carried")}
            options={secretOptions.map((value) => ({ value, label: t(`transfer.${value}`) }))}
            values={includedSecrets}
            onChange={setCarried}
          />
        )}
        {includedSecrets.length > 0 && <Alert tone="warning">{t("transfer.keep_secret")}</Alert>}
        <div className="row">
          <Button disabled={action.busy} onClick={() => action.run()}>
            {t("transfer.export.start")}
          </Button>
          {action.busy && <Progress label={t("transfer.export.title")} current={progress} />}
        </div>
        <RefusalAlert refusal={action.refusal} />
        {written && <ExportOutcome {...written} />}
      </div>
    </Section>
  )
}

function ExportOutcome({ count, skipped }: ExportResult) {
  return (
    <>
      {count > 0 && <Alert tone="done">{t("transfer.export.done", { count })}</Alert>}
      {skipped.length > 0 && (
        <Alert tone="danger" title={t("transfer.left_out")}>
          <Table
            caption={t("transfer.left_out")}
            columns={[
              { label: t("transfer.which"), cell: ({ name }) => <bdi>{name}</bdi> },
              { label: t("transfer.why"), cell: ({ reason }) => reason },
            ]}
            rows={skipped}
            keyOf={({ id }) => id}
          />
        </Alert>
      )}
    </>
  )
}

type OrganizationName = { readonly id: string; readonly name: string }

const pageSize = 100

async function listOrganizations(): Promise<readonly OrganizationName[]> {
  const all: OrganizationName[] = []
  for (;;) {
    const query = { offset: BigInt(all.length), limit: pageSize, asc: true }
    const { result } = await call(OrganizationService.method.listOrganizations, { query })
    all.push(...result.map(({ id, name }) => ({ id, name })))
    if (result.length < pageSize) return all
  }
}

/** Writes the file after all requests have finished. */
async function exportToFile(
  organizations: readonly OrganizationName[],
  includedSecrets: readonly (typeof secretOptions)[number][],
  onProgress: (progress: TransferProgress) => void,
): Promise<ExportResult> {
  const lines: string[] = []
  const skipped: SkippedOrganization[] = []
  const secretFlags = Object.fromEntries(includedSecrets.map((name) => [name, true]))
  for (const [done, { id, name }] of organizations.entries()) {
    onProgress({ done, total: organizations.length })
    try {
      const request = { ...secretFlags, orgIds: [id], responseOutput: true }
      const { orgs } = await call(AdminService.method.exportData, request)
      lines.push(...orgs.map((org) => JSON.stringify(toJson(DataOrgSchema, org))))
    } catch (failure) {
      const refusal = refusalOf(failure)
      if (refusal.id !== "transfer.too_large") throw failure
      skipped.push({ id, name, reason: refusalText(refusal) })
    }
  }
  if (lines.length > 0) saveFile(fileName, `${lines.join("\n")}\n`, "application/jsonl")
  return { count: lines.length, skipped }
}

const fileName = "organizations.jsonl"
