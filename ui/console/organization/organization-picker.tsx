import { TextQueryMethod } from "../../../src/gen/core/object/v2/object_pb.ts"
import { OrganizationFieldName } from "../../../src/gen/core/org/v2/org_pb.ts"
import { OrganizationService } from "../../../src/gen/core/org/v2/organization_service_pb.ts"
import { UserSummary } from "../../kit/index.ts"
import { Picker } from "../list/index.ts"
import { type Organization, t } from "../shell/index.ts"

type OrganizationPickerProps = {
  /** The organization to exclude, which owns the resource. */
  readonly except: string
  readonly value: string
  readonly onChange: (id: string) => void
}

/** Selects another organization by name, or by ID if the caller can't see it. */
export function OrganizationPicker({ except, ...picked }: OrganizationPickerProps) {
  const others = (rows: readonly Organization[]) => rows.filter(({ id }) => id !== except)
  return (
    <Picker
      label={t("grants.to")}
      hint={t("grants.to_hint")}
      {...picked}
      method={OrganizationService.method.listOrganizations}
      toRequest={(text) => ({
        query: { limit: 7, asc: true },
        sortingColumn: OrganizationFieldName.NAME,
        queries: text ? [{ query: queryOf(text) }] : [],
      })}
      find={({ result }) => others(result)}
      fallback={(text) => others(isId(text) ? [{ id: text, name: text }] : [])}
      idOf={({ id }) => id}
      show={({ id, name }) => <UserSummary name={name} loginName={id} />}
    />
  )
}

const isId = (text: string) => /^\d{15,20}$/.test(text)

function queryOf(text: string) {
  const method = TextQueryMethod.CONTAINS_IGNORE_CASE
  return isId(text)
    ? ({ case: "idQuery", value: { id: text } } as const)
    : ({ case: "nameQuery", value: { name: text, method } } as const)
}
