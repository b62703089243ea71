import { useNavigate } from "@tanstack/react-router"
import { type Action, ActionFieldName } from "../../../src/gen/core/action/v1/action_pb.ts"
import { ManagementService } from "../../../src/gen/core/management/v1/management_service_pb.ts"
import { TextQueryMethod } from "../../../src/gen/core/v1/object_pb.ts"
import { defineForm, verbatim } from "../form/index.ts"
import {
  Collection,
  type ListColumn,
  paginationOf,
  StateBadge,
  Time,
  toPage,
} from "../list/index.ts"
import { call, Link, Page, PagePart, t, useOrganization } from "../shell/index.ts"
import { Flows } from "./flows.tsx"
import { Runs } from "./runs.tsx"
import { isActive } from "./script.ts"

const { listActions, createAction, deleteAction } = ManagementService.method
const method = TextQueryMethod.CONTAINS_IGNORE_CASE

/** Scripts of an organization, when they run, and the latest runs. */
export function ScriptsPage() {
  const navigate = useNavigate()
  const { id: organizationId, name: owner } = useOrganization()
  const create = defineForm({
    initial: { name: "" },
    refusals: { name: ["action.name"] },
    save: ({ name }) => {
      const script = `function ${name}(ctx, api) {\n  \n}\n`
      return call(createAction, { name, script }, { within: organizationId })
    },
    done: ({ id }) => navigate({ to: "/scripts/$scriptId", params: { scriptId: id } }),
    fields: ({ text }) =>
      text("name", t("field.name"), {
        ...verbatim,
        required: true,
        hint: t("script.name_hint"),
        pattern: "[\\p{ID_Start}$_][\\p{ID_Continue}$_]*",
      }),
  })
  return (
    <Page title={t("nav.scripts")} owner={owner}>
      <p className="quiet section-lead">{t("script.lead")}</p>
      <Collection
        family="scripts"
        within={organizationId}
        method={listActions}
        toRequest={({ text, ...query }) => ({
          query: paginationOf({ text, ...query }),
          sortingColumn: ActionFieldName.NAME,
          queries: text ? [{ query: nameQuery(text) }] : [],
        })}
        find={({ result, details }) => toPage(result, details)}
        columns={scriptColumns()}
        keyOf={({ id }) => id}
        nameOf={({ name }) => name}
        needs={{ create: createAction, remove: deleteAction }}
        form={() => create}
        remove={({ id }) => call(deleteAction, { id })}
      />
      <PagePart>
        <Flows organizationId={organizationId} />
      </PagePart>
      <Runs organizationId={organizationId} />
    </Page>
  )
}

const nameQuery = (name: string) => ({ case: "actionNameQuery", value: { name, method } }) as const

const scriptColumns = (): readonly ListColumn<Action>[] => [
  {
    label: t("field.name"),
    cell: ({ id, name }) => (
      <Link to="/scripts/$scriptId" params={{ scriptId: id }}>
        {name}
      </Link>
    ),
  },
  { label: t("field.state"), cell: (action) => <StateBadge isOn={isActive(action)} /> },
  { label: t("field.changed"), cell: ({ details }) => <Time at={details?.changeDate} /> },
]
