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
  Section,
  saveFile,
  t,
  useAction,
  useMay,
  useOrganizations,
  wordsOf,
} from "../shell/index.ts"
import { Progress, type TransferProgress } from "./progress.tsx"

const secrets = ["withPasswords", "withOtp", "withSecrets"] as const

/** An organisation that the file has not got, and why. */
type LeftOut = { readonly id: string; readonly name: string; readonly why: string }
type Written = { readonly count: number; readonly leftOut: readonly LeftOut[] }

/** One organisation or all, each asked for by itself: what is too much for one answer says so. */
export function ExportSection() {
  const offered = useOrganizations()
  const may = useMay()
  const [only, setOnly] = useState("")
  const [carried, setCarried] = useState<readonly (typeof secrets)[number][]>([])
  const [standing, setStanding] = useState<TransferProgress>()
  const [written, setWritten] = useState<Written>()
  const action = useAction(async () => {
    setWritten(undefined)
    const chosen = offered.filter(({ id }) => id === only)
    const wanted = only === "" ? await allOrganizations() : chosen
    return exported(wanted, carried, setStanding)
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
            options={secrets.map((value) => ({ value, label: t(`transfer.${value}`) }))}
            values={carried}
            onChange={setCarried}
          />
        )}
        {carried.length > 0 && <Alert tone="warning">{t("transfer.keep_secret")}</Alert>}
        <div className="row">
          <Button disabled={action.busy} onClick={() => action.run()}>
            {t("transfer.export.start")}
          </Button>
          {action.busy && <Progress label={t("transfer.export.title")} standing={standing} />}
        </div>
        <RefusalAlert refusal={action.refusal} />
        {written && <Outcome {...written} />}
      </div>
    </Section>
  )
}

function Outcome({ count, leftOut }: Written) {
  return (
    <>
      {count > 0 && <Alert tone="done">{t("transfer.export.done", { count })}</Alert>}
      {leftOut.length > 0 && (
        <Alert tone="danger" title={t("transfer.left_out")}>
          <Table
            caption={t("transfer.left_out")}
            columns={[
              { label: t("transfer.which"), cell: ({ name }) => <bdi>{name}</bdi> },
              { label: t("transfer.why"), cell: ({ why }) => why },
            ]}
            rows={leftOut}
            keyOf={({ id }) => id}
          />
        </Alert>
      )}
    </>
  )
}

type OrganizationName = { readonly id: string; readonly name: string }

const atOnce = 100

async function allOrganizations(): Promise<readonly OrganizationName[]> {
  const all: OrganizationName[] = []
  for (;;) {
    const query = { offset: BigInt(all.length), limit: atOnce, asc: true }
    const { result } = await call(OrganizationService.method.listOrganizations, { query })
    all.push(...result.map(({ id, name }) => ({ id, name })))
    if (result.length < atOnce) return all
  }
}

/** Writes the file once all have been asked. */
async function exported(
  wanted: readonly OrganizationName[],
  carried: readonly (typeof secrets)[number][],
  tell: (standing: TransferProgress) => void,
): Promise<Written> {
  const lines: string[] = []
  const leftOut: LeftOut[] = []
  const along = Object.fromEntries(carried.map((name) => [name, true]))
  for (const [done, { id, name }] of wanted.entries()) {
    tell({ done, total: wanted.length })
    try {
      const asked = { ...along, orgIds: [id], responseOutput: true }
      const { orgs } = await call(AdminService.method.exportData, asked)
      lines.push(...orgs.map((org) => JSON.stringify(toJson(DataOrgSchema, org))))
    } catch (failure) {
      const refusal = refusalOf(failure)
      if (refusal.id !== "transfer.too_large") throw failure
      leftOut.push({ id, name, why: wordsOf(refusal) })
    }
  }
  if (lines.length > 0) saveFile(fileName, `${lines.join("\n")}\n`, "application/jsonl")
  return { count: lines.length, leftOut }
}

const fileName = "organizations.jsonl"
