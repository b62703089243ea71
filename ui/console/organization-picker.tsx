import { TextQueryMethod } from "../../src/gen/core/object/v2/object_pb.ts"
import { OrganizationFieldName } from "../../src/gen/core/org/v2/org_pb.ts"
import { Person } from "../kit/person.tsx"
import { type Core, unlessDenied } from "./core.ts"
import { type Organization, useHouse } from "./house.ts"
import { Picker } from "./picker.tsx"

type OrganizationPickerProps = {
  /** The one that is not offered: what is picked for belongs to it. */
  readonly except: string
  readonly value: string
  readonly onChange: (id: string) => void
}

/** Another organisation, by its name, or by its ID where one may not see it. */
export function OrganizationPicker({ except, ...picked }: OrganizationPickerProps) {
  const { t, core } = useHouse()
  return (
    <Picker
      label={t("grants.to")}
      hint={t("grants.to_hint")}
      {...picked}
      read={async (text, signal) => {
        const found = await unlessDenied(namedLike(core, text, signal), [])
        const isId = /^\d{15,20}$/.test(text)
        const rows = isId && found.length === 0 ? [{ id: text, name: text }] : found
        return rows.filter(({ id }) => id !== except)
      }}
      idOf={({ id }) => id}
      show={({ id, name }) => <Person name={name} loginName={id} />}
    />
  )
}

async function namedLike(
  core: Core,
  text: string,
  signal: AbortSignal,
): Promise<readonly Organization[]> {
  const method = TextQueryMethod.CONTAINS_IGNORE_CASE
  const named = { case: "nameQuery", value: { name: text, method } } as const
  const known = { case: "idQuery", value: { id: text } } as const
  const query = /^\d{15,20}$/.test(text) ? known : named
  const request = {
    query: { limit: 7, asc: true },
    sortingColumn: OrganizationFieldName.NAME,
    queries: text ? [{ query }] : [],
  }
  return (await core.organizations.listOrganizations(request, { signal })).result
}
