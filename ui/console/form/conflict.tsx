import { timestampMs } from "@bufbuild/protobuf/wkt"
import {
  createContext,
  type ReactNode,
  type RefObject,
  useContext,
  useEffect,
  useId,
  useRef,
} from "react"
import { Button } from "../../kit/index.ts"
import { type Changed, language, relativeTime, serverNow, t } from "../shell/index.ts"
import { durationFromAmount, formatDuration, isAmount } from "./duration.ts"

/** A conflict in any form. */
type FieldConflict = { readonly name: string; readonly theirs: unknown; readonly mine: unknown }

/** The part of a form that fields use to show conflicts. */
type Conflicts = {
  readonly conflicts: readonly FieldConflict[]
  readonly changed: Changed | undefined
  readonly decide: (name: string, keeps: "mine" | "theirs") => void
}

/** Fields that show their conflicts themselves. */
type ConflictRegistry = { readonly add: (name: string) => () => void }

export const ConflictRegistryContext = createContext<ConflictRegistry>({ add: () => () => {} })

type ContestedProps = {
  readonly form: Conflicts
  readonly name: string
  readonly label: string
  /** Formats a value for display. */
  readonly format?: ((value: unknown) => string) | undefined
  readonly children: ReactNode
}

/** A field with the conflicting value of another user. */
export function ContestedField({ form, name, label, format, children }: ContestedProps) {
  const { add } = useContext(ConflictRegistryContext)
  useEffect(() => add(name), [add, name])
  const conflict = form.conflicts.find((each) => each.name === name)
  return (
    <div className={conflict ? "contested" : "uncontested"}>
      {children}
      {conflict && <ConflictBox form={form} conflict={conflict} label={label} format={format} />}
    </div>
  )
}

type ConflictBoxProps = Omit<ContestedProps, "form" | "name" | "children"> & {
  readonly form: Omit<Conflicts, "conflicts">
  readonly conflict: FieldConflict
}

/** Both values; one must be selected before saving. */
export function ConflictBox({ form, conflict, label, format = formatValue }: ConflictBoxProps) {
  const { name, theirs, mine } = conflict
  const id = useId()
  const ref = useRef<HTMLFieldSetElement>(null)
  const decide = (keeps: "mine" | "theirs") => {
    focusNext(ref)
    form.decide(name, keeps)
  }
  return (
    <fieldset ref={ref} className="conflict" tabIndex={-1} aria-describedby={id}>
      <legend className="visually-hidden">{label}</legend>
      <p className="small" id={id}>
        {formatChange(form.changed)}
      </p>
      <dl className="conflict-values">
        <ConflictValue label={t("conflict.theirs")} text={format(theirs)} />
        <ConflictValue label={t("conflict.mine")} text={format(mine)} />
      </dl>
      <div className="form-actions">
        <Button
          small
          aria-label={`${t("conflict.take_theirs")}: ${label}`}
          onClick={() => decide("theirs")}
        >
          {t("conflict.take_theirs")}
        </Button>
        <Button
          small
          aria-label={`${t("conflict.keep_mine")}: ${label}`}
          onClick={() => decide("mine")}
        >
          {t("conflict.keep_mine")}
        </Button>
      </div>
    </fieldset>
  )
}

/** Longer values scroll, so they must be focusable. */
const scrollLength = 150

function ConflictValue({ label, text }: { readonly label: string; readonly text: string }) {
  return (
    <div>
      <dt className="quiet small">{label}</dt>
      <dd {...(text.length > scrollLength && { tabIndex: 0 })}>{text || t("conflict.empty")}</dd>
    </div>
  )
}

/** Moves the focus to the next conflict or to the submit button, because this box disappears. */
function focusNext(ref: RefObject<HTMLFieldSetElement | null>): void {
  const form = ref.current?.closest("form")
  const boxes = [...(form?.querySelectorAll<HTMLElement>(".conflict") ?? [])]
  const next = boxes.find((box) => box !== ref.current)
  const button = form?.querySelector<HTMLElement>('button[type="submit"]')
  ;(next ?? button)?.focus()
}

function formatChange(changed: Changed | undefined): string {
  if (!changed?.by || !changed.at) return t("conflict.changed")
  const ago = relativeTime(language, timestampMs(changed.at), serverNow())
  return t("conflict.changed_by", { name: changed.by, ago })
}

function formatValue(value: unknown): string {
  if (typeof value === "boolean") return t(value ? "detail.on" : "detail.off")
  if (Array.isArray(value)) return value.map(formatValue).join("\n")
  if (isAmount(value)) {
    const duration = durationFromAmount(value)
    return duration ? formatDuration(duration) : ""
  }
  return String(value ?? "")
}
