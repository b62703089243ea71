import { useNavigate } from "@tanstack/react-router"
import { TextQueryMethod } from "../../../src/gen/core/object/v2/object_pb.ts"
import {
  type Organization,
  OrganizationFieldName,
  OrganizationState,
} from "../../../src/gen/core/org/v2/org_pb.ts"
import { OrganizationService } from "../../../src/gen/core/org/v2/organization_service_pb.ts"
import { DialogButton, formOf } from "../form/index.ts"
import { Clip, found, type ListColumn, Listing, pageOf, StateBadge, Time } from "../list/index.ts"
import { call, Link, Page, t } from "../shell/index.ts"

const method = TextQueryMethod.CONTAINS_IGNORE_CASE

/** Every organisation that one may see. */
export function OrganizationsPage() {
  const navigate = useNavigate()
  const form = formOf({
    initial: { name: "" },
    refusals: { name: ["org."] },
    save: ({ name }) => call(OrganizationService.method.addOrganization, { name: name.trim() }),
    done: ({ organizationId }) =>
      navigate({ to: "/organizations/$organizationId", params: { organizationId } }),
    fields: ({ text }) =>
      text("name", t("field.name"), { hint: t("organizations.name_hint"), required: true }),
  })
  const create = (
    <DialogButton
      form={form}
      primary
      family="organization"
      label={t("organizations.create")}
      needs={OrganizationService.method.addOrganization}
    />
  )
  return (
    <Page title={t("nav.organizations")} owner={t("nav.instance")} actions={create}>
      <Listing
        caption={t("nav.organizations")}
        method={OrganizationService.method.listOrganizations}
        ask={(asked) => {
          const query = { case: "nameQuery", value: { name: asked.text, method } } as const
          return {
            query: pageOf(asked),
            sortingColumn: OrganizationFieldName.NAME,
            queries: asked.text ? [{ query }] : [],
          }
        }}
        find={({ result, details }) => found(result, details)}
        columns={columnsOf()}
        keyOf={({ id }) => id}
        empty={null}
      />
    </Page>
  )
}

const columnsOf = (): readonly ListColumn<Organization>[] => [
  {
    label: t("field.name"),
    sort: "name",
    cell: ({ id: organizationId, name }) => (
      <Link className="row-link" to="/organizations/$organizationId" params={{ organizationId }}>
        {name}
      </Link>
    ),
  },
  { label: t("domains.primary"), cell: ({ primaryDomain }) => <Clip text={primaryDomain} /> },
  {
    label: t("field.state"),
    cell: ({ state }) => <StateBadge isOn={state !== OrganizationState.INACTIVE} />,
  },
  { label: t("field.changed"), cell: ({ details }) => <Time at={details?.changeDate} /> },
]
