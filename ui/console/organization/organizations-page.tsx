import { useNavigate } from "@tanstack/react-router"
import { TextQueryMethod } from "../../../src/gen/core/object/v2/object_pb.ts"
import {
  type Organization,
  OrganizationFieldName,
  OrganizationState,
} from "../../../src/gen/core/org/v2/org_pb.ts"
import { OrganizationService } from "../../../src/gen/core/org/v2/organization_service_pb.ts"
import { Button } from "../../kit/button.tsx"
import { TextField } from "../../kit/field.tsx"
import { DialogForm } from "../form/form.tsx"
import { formId } from "../form/open.ts"
import { useForm } from "../form/use-form.ts"
import { Clip } from "../list/badges.tsx"
import { useCreating } from "../list/list-state.ts"
import { found, type ListColumn, Listing, pageOf } from "../list/listing.tsx"
import { StateBadge } from "../list/state-badge.tsx"
import { Time } from "../list/time.tsx"
import { call } from "../shell/call.ts"
import { Page } from "../shell/frame.tsx"
import { Link } from "../shell/link.tsx"
import { May } from "../shell/may.tsx"
import { useText } from "../shell/text.ts"
import type { Texts } from "../shell/texts/index.ts"

const method = TextQueryMethod.CONTAINS_IGNORE_CASE

/** Every organisation that one may see. */
export function OrganizationsPage() {
  const texts = useText()
  const { t } = texts
  const [creating, setCreating] = useCreating("organization")
  const create = (
    <May needs={OrganizationService.method.addOrganization}>
      <Button kind="primary" onClick={() => setCreating(true)}>
        {t("organizations.create")}
      </Button>
    </May>
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
        columns={columnsOf(texts)}
        keyOf={({ id }) => id}
        empty={null}
      />
      {creating && <Create close={() => setCreating(false)} />}
    </Page>
  )
}

const columnsOf = ({ t }: Texts): readonly ListColumn<Organization>[] => [
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
    cell: ({ state }) => (
      <StateBadge state={state === OrganizationState.INACTIVE ? "inactive" : "active"} />
    ),
  },
  { label: t("field.changed"), cell: ({ details }) => <Time at={details?.changeDate} /> },
]

function Create({ close }: { readonly close: () => void }) {
  const { t } = useText()
  const navigate = useNavigate()
  const form = useForm({
    id: formId("organization", "new"),
    initial: { name: "" },
    refusals: { name: ["org."] },
    save: ({ name }) => call(OrganizationService.method.addOrganization, { name: name.trim() }),
    done: ({ organizationId }) =>
      navigate({ to: "/organizations/$organizationId", params: { organizationId } }),
  })
  const title = t("organizations.create")
  return (
    <DialogForm title={title} submit={title} form={form} onCancel={close}>
      <TextField
        label={t("field.name")}
        hint={t("organizations.name_hint")}
        {...form.text("name")}
        required
        autoFocus
      />
    </DialogForm>
  )
}
