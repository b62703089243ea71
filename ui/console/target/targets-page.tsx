import { useState } from "react"
import { ActionService } from "../../../src/gen/core/action/v2/action_service_pb.ts"
import { type Target, TargetFieldName } from "../../../src/gen/core/action/v2/target_pb.ts"
import { TextFilterMethod } from "../../../src/gen/core/filter/v2/filter_pb.ts"
import {
  Clip,
  Collection,
  found,
  type ListColumn,
  OneTimeSecret,
  pageOf,
  Time,
} from "../list/index.ts"
import { call, Link, Page, Part, t } from "../shell/index.ts"
import { Calls, Resting } from "./calls.tsx"
import { Executions } from "./executions.tsx"
import { type CreatedTarget, kindOf, targetForm } from "./target.ts"

const { listTargets, createTarget, deleteTarget } = ActionService.method

const sorts = {
  name: TargetFieldName.NAME,
  changed: TargetFieldName.CHANGED_DATE,
} as const

/** Other services that have a say here: where they are, when they are called, how that went. */
export function TargetsPage() {
  const [made, setMade] = useState<CreatedTarget | undefined>(undefined)
  return (
    <Page title={t("nav.targets")} owner={t("nav.instance")}>
      <p className="quiet section-lead">{t("targets.lead")}</p>
      <Part rows={1}>
        <Resting />
      </Part>
      {made && (
        <OneTimeSecret
          title={t("targets.signing_key")}
          secret={made.signingKey}
          file={`${made.name}-signing-key.txt`}
        />
      )}
      <Collection
        family="targets"
        method={listTargets}
        ask={(asked) => ({
          pagination: pageOf(asked),
          sortingColumn: asked.by === "changed" ? sorts.changed : sorts.name,
          filters: asked.text ? [{ filter: namedLike(asked.text) }] : [],
        })}
        find={({ targets, pagination }) => found(targets, pagination)}
        columns={columnsOf()}
        keyOf={({ id }) => id}
        nameOf={({ name }) => name}
        needs={{ create: createTarget, remove: deleteTarget }}
        form={() => targetForm(undefined, setMade)}
        remove={({ id }) => call(deleteTarget, { id })}
      />
      <Part>
        <Executions />
      </Part>
      <Calls />
    </Page>
  )
}

const method = TextFilterMethod.CONTAINS_IGNORE_CASE
const namedLike = (targetName: string) =>
  ({ case: "targetNameFilter", value: { targetName, method } }) as const

const columnsOf = (): readonly ListColumn<Target>[] => [
  {
    label: t("field.name"),
    sort: "name",
    cell: ({ id, name }) => (
      <Link to="/targets/$targetId" params={{ targetId: id }}>
        {name}
      </Link>
    ),
  },
  { label: t("field.kind"), cell: (target) => t(`targets.kind.${kindOf(target)}`) },
  { label: t("targets.endpoint"), cell: ({ endpoint }) => <Clip text={endpoint} /> },
  {
    label: t("field.changed"),
    sort: "changed",
    cell: ({ changeDate }) => <Time at={changeDate} />,
  },
]
