import { useState } from "react"
import { ActionService } from "../../../src/gen/core/action/v2/action_service_pb.ts"
import { type Target, TargetFieldName } from "../../../src/gen/core/action/v2/target_pb.ts"
import { TextFilterMethod } from "../../../src/gen/core/filter/v2/filter_pb.ts"
import {
  Clip,
  Collection,
  type ListColumn,
  OneTimeSecret,
  paginationOf,
  Time,
  toPage,
} from "../list/index.ts"
import { call, Link, Page, PagePart, t } from "../shell/index.ts"
import { PausedTargets, TargetCalls } from "./calls.tsx"
import { Executions } from "./executions.tsx"
import { type CreatedTarget, targetForm, targetKindOf } from "./target.ts"

const { listTargets, createTarget, deleteTarget } = ActionService.method

const sortColumns = {
  name: TargetFieldName.NAME,
  changed: TargetFieldName.CHANGED_DATE,
} as const

/** Targets of the instance: their URLs, executions and latest calls. */
export function TargetsPage() {
  const [created, setMade] = useState<CreatedTarget | undefined>(undefined)
  return (
    <Page title={t("nav.targets")} owner={t("nav.instance")}>
      <p className="quiet section-lead">{t("targets.lead")}</p>
      <PagePart rows={1}>
        <PausedTargets />
      </PagePart>
      {created && (
        <OneTimeSecret
          title={t("targets.signing_key")}
          secret={created.signingKey}
          file={`${created.name}-signing-key.txt`}
        />
      )}
      <Collection
        family="targets"
        method={listTargets}
        toRequest={(query) => ({
          pagination: paginationOf(query),
          sortingColumn: query.by === "changed" ? sortColumns.changed : sortColumns.name,
          filters: query.text ? [{ filter: nameFilter(query.text) }] : [],
        })}
        find={({ targets, pagination }) => toPage(targets, pagination)}
        columns={targetColumns()}
        keyOf={({ id }) => id}
        nameOf={({ name }) => name}
        needs={{ create: createTarget, remove: deleteTarget }}
        form={() => targetForm(undefined, setMade)}
        remove={({ id }) => call(deleteTarget, { id })}
      />
      <PagePart>
        <Executions />
      </PagePart>
      <TargetCalls />
    </Page>
  )
}

const method = TextFilterMethod.CONTAINS_IGNORE_CASE
const nameFilter = (targetName: string) =>
  ({ case: "targetNameFilter", value: { targetName, method } }) as const

const targetColumns = (): readonly ListColumn<Target>[] => [
  {
    label: t("field.name"),
    sort: "name",
    cell: ({ id, name }) => (
      <Link to="/targets/$targetId" params={{ targetId: id }}>
        {name}
      </Link>
    ),
  },
  { label: t("field.kind"), cell: (target) => t(`targets.kind.${targetKindOf(target)}`) },
  { label: t("targets.endpoint"), cell: ({ endpoint }) => <Clip text={endpoint} /> },
  {
    label: t("field.changed"),
    sort: "changed",
    cell: ({ changeDate }) => <Time at={changeDate} />,
  },
]
