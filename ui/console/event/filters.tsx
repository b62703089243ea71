import { useState } from "react"
import { AdminService } from "../../../src/gen/core/admin/v1/admin_service_pb.ts"
import { Button, SelectField, TextField } from "../../kit/index.ts"
import { SearchForm, verbatim } from "../form/index.ts"
import type { ListState } from "../list/index.ts"
import { language, t, useRead } from "../shell/index.ts"
import { PickerField } from "./picker-field.tsx"
import { ResourcePicker, UserPicker } from "./resource-pickers.tsx"

const filterNames = ["kind", "type", "id", "editor", "since", "until"] as const
const typesId = "event-types"

type FiltersProps = {
  readonly state: ListState
  /** Names of users and resources in the listed events, by ID. */
  readonly names: ReadonlyMap<string, string>
}

/** Filters of the event list, stored in the URL. */
export function Filters({ state: { get, set }, names }: FiltersProps) {
  const { aggregateTypes } = useRead(AdminService.method.listAggregateTypes)
  const { eventTypes } = useRead(AdminService.method.listEventTypes)
  const [typed, setTyped] = useState<Readonly<Record<string, string>>>(
    Object.fromEntries(filterNames.map((part) => [part, get(part) ?? ""])),
  )
  const put = (part: string, value: string) => setTyped({ ...typed, [part]: value })
  const ask = () =>
    set({
      ...Object.fromEntries(filterNames.map((part) => [part, typed[part]?.trim() || undefined])),
      at: undefined,
    })
  const kinds = aggregateTypes
    .map(({ type, localized }) => ({ value: type, label: localized?.localizedMessage || type }))
    .toSorted((a, b) => a.label.localeCompare(b.label, language))
  return (
    <SearchForm className="form" onSearch={ask}>
      <div className="pair pair-two">
        <SelectField
          label={t("events.kind")}
          options={[{ value: "", label: t("filter.all") }, ...kinds]}
          value={typed.kind ?? ""}
          onChange={(kind) => put("kind", kind)}
        />
        <TextField
          label={t("events.type")}
          {...verbatim}
          list={typesId}
          maxLength={200}
          autoComplete="off"
          value={typed.type ?? ""}
          onChange={(event) => put("type", event.target.value)}
        />
        {(["id", "editor"] as const).map((part) => (
          <PickerField
            key={part}
            label={t(`events.${part}`)}
            value={typed[part] ?? ""}
            name={names.get(typed[part] ?? "")}
            onChange={(id) => put(part, id)}
          >
            {(choose) =>
              part === "id" ? <ResourcePicker choose={choose} /> : <UserPicker choose={choose} />
            }
          </PickerField>
        ))}
        {(["since", "until"] as const).map((part) => (
          <TextField
            key={part}
            label={t(`events.${part}`)}
            type="date"
            value={typed[part] ?? ""}
            onChange={(event) => put(part, event.target.value)}
          />
        ))}
      </div>
      <datalist id={typesId}>
        {eventTypes.map(({ type, localized }) => (
          <option key={type} value={type} label={localized?.localizedMessage} />
        ))}
      </datalist>
      <div className="row">
        <Button type="submit">{t("events.find")}</Button>
      </div>
    </SearchForm>
  )
}
