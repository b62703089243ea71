import { type ReactNode, useId, useState } from "react"
import { Button, Dialog } from "../../kit/index.ts"
import { t } from "../shell/index.ts"

/** Names of resources that were picked in this tab; names from events take precedence. */
const pickedNames = new Map<string, string>()

export type PickedResource = { readonly id: string; readonly name: string }

type PickerFieldProps = {
  readonly label: string
  /** An ID; empty for all. */
  readonly value: string
  /** The name in the listed events. */
  readonly name: string | undefined
  readonly onChange: (id: string) => void
  readonly children: (choose: (picked: PickedResource) => void) => ReactNode
}

/** Picks a user or resource by name in a dialog; shows its ID too. */
export function PickerField({ label, value, name, onChange, children }: PickerFieldProps) {
  const [open, setOpen] = useState(false)
  const labelId = useId()
  const choose = (picked: PickedResource) => {
    if (picked.id === "") return
    pickedNames.set(picked.id, picked.name)
    onChange(picked.id)
    setOpen(false)
  }
  const displayName = name || pickedNames.get(value)
  return (
    <fieldset className="field" aria-labelledby={labelId}>
      <span className="field-label" id={labelId}>
        {label}
      </span>
      <div className="row">
        {value === "" ? (
          <span className="quiet">{t("filter.all")}</span>
        ) : (
          <bdi>{displayName ?? value}</bdi>
        )}
        {displayName !== undefined && displayName !== value && (
          <code className="small">{value}</code>
        )}
        <Button small onClick={() => setOpen(true)} aria-label={`${t("events.choose")}: ${label}`}>
          {t("events.choose")}
        </Button>
        {value !== "" && (
          <Button
            small
            kind="plain"
            onClick={() => onChange("")}
            aria-label={`${t("events.clear")}: ${label}`}
          >
            {t("events.clear")}
          </Button>
        )}
      </div>
      {open && (
        <Dialog title={label} onClose={() => setOpen(false)}>
          <div className="stack">{children(choose)}</div>
        </Dialog>
      )}
    </fieldset>
  )
}
