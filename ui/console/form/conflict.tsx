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
import { durationOf, durationText, isAmount } from "./duration.ts"

/** A conflict of any form, to be shown. */
type FieldConflict = { readonly name: string; readonly theirs: unknown; readonly mine: unknown }

/** What the fields of a form need of it to show their conflicts. */
type Conflicts = {
  readonly conflicts: readonly FieldConflict[]
  readonly changed: Changed | undefined
  readonly decide: (name: string, keeps: "mine" | "theirs") => void
}

/** Which fields show their conflicts themselves. */
type ConflictRegistry = { readonly add: (name: string) => () => void }

export const ConflictPlaces = createContext<ConflictRegistry>({ add: () => () => {} })

type ContestedProps = {
  readonly form: Conflicts
  readonly name: string
  readonly label: string
  /** A value of the field as people read it. */
  readonly words?: ((value: unknown) => string) | undefined
  readonly children: ReactNode
}

/** A field, and beside it what somebody else has made of it since. */
export function Contested({ form, name, label, words, children }: ContestedProps) {
  const { add } = useContext(ConflictPlaces)
  useEffect(() => add(name), [add, name])
  const conflict = form.conflicts.find((each) => each.name === name)
  return (
    <div className={conflict ? "contested" : "uncontested"}>
      {children}
      {conflict && <ConflictBox form={form} conflict={conflict} label={label} words={words} />}
    </div>
  )
}

type BoxProps = Omit<ContestedProps, "form" | "name" | "children"> & {
  readonly form: Omit<Conflicts, "conflicts">
  readonly conflict: FieldConflict
}

/** Both values beside each other. Nothing is saved before one is chosen. */
export function ConflictBox({ form, conflict, label, words = wordsOf }: BoxProps) {
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
        {changeText(form.changed)}
      </p>
      <dl className="conflict-values">
        <Value label={t("conflict.theirs")} text={words(theirs)} />
        <Value label={t("conflict.mine")} text={words(mine)} />
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

/** What is longer scrolls, and so a keyboard must reach it. */
const longLength = 150

function Value({ label, text }: { readonly label: string; readonly text: string }) {
  return (
    <div>
      <dt className="quiet small">{label}</dt>
      <dd {...(text.length > longLength && { tabIndex: 0 })}>{text || t("conflict.empty")}</dd>
    </div>
  )
}

/** The box goes with its decision: the focus moves to the next one, or to the form's button. */
function focusNext(ref: RefObject<HTMLFieldSetElement | null>): void {
  const form = ref.current?.closest("form")
  const boxes = [...(form?.querySelectorAll<HTMLElement>(".conflict") ?? [])]
  const next = boxes.find((box) => box !== ref.current)
  const button = form?.querySelector<HTMLElement>('button[type="submit"]')
  ;(next ?? button)?.focus()
}

function changeText(changed: Changed | undefined): string {
  if (!changed?.by || !changed.at) return t("conflict.changed")
  const ago = relativeTime(language, timestampMs(changed.at), serverNow())
  return t("conflict.changed_by", { name: changed.by, ago })
}

function wordsOf(value: unknown): string {
  if (typeof value === "boolean") return t(value ? "detail.on" : "detail.off")
  if (Array.isArray(value)) return value.map(wordsOf).join("\n")
  if (isAmount(value)) {
    const duration = durationOf(value)
    return duration ? durationText(duration) : ""
  }
  return String(value ?? "")
}
