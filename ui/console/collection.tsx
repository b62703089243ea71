import { type ReactNode, useState } from "react"
import { Button } from "../kit/button.tsx"
import { EmptyState } from "../kit/empty-state.tsx"
import type { Column } from "../kit/table.tsx"
import { ActionButton, ConfirmButton } from "./confirm.tsx"
import { Section } from "./detail.tsx"
import { useHouse } from "./house.ts"
import { Listing, type ListingProps } from "./listing.tsx"
import type { Changed, Readings } from "./load.ts"
import { PageFrame } from "./page-frame.tsx"

/** Each has a title, a word for making one, what it says when empty, and what removing means. */
type Family = (typeof usual)[number] | (typeof seldom)[number]

const usual = ["authorizations", "custom_roles", "groups", "roles"] as const

/** Most things do without these: an empty list says so in a line, and not what comes first. */
const seldom = ["administrators", "domains", "grants", "metadata"] as const

/** What the form of one row is handed. */
export type FormPart = { readonly onChanged: Changed; readonly close: () => void }

type CollectionProps<Row> = Pick<
  ListingProps<Row>,
  "scope" | "read" | "columns" | "keyOf" | "filters" | "filtered"
> & {
  readonly family: Family
  /** What else is read again when one of them changes, and they with it. */
  readonly readings: Readings
  readonly nameOf: (row: Row) => string
  /** The dialog that makes one where there is no row, else the one that changes it. */
  readonly form: (row: Row | undefined, part: FormPart) => ReactNode
  /** What can be done with a row; all that is offered where nothing is said. */
  readonly isFixed?: (row: Row) => boolean
  readonly edits?: false
  readonly turn?: {
    readonly isOn: (row: Row) => boolean
    readonly act: (row: Row, on: boolean) => Promise<unknown>
  }
  readonly more?: (row: Row) => ReactNode
  readonly remove: (row: Row) => Promise<unknown>
  /** It is a page of its own, of the organisation or of somebody else. */
  readonly page?: { readonly owner?: string; readonly lead?: string }
}

/** Things of one kind that hang from something: listed, made, changed and removed in one place. */
export function Collection<Row>(props: CollectionProps<Row>) {
  const { family, readings, form, columns, page } = props
  const { t } = useHouse()
  const [open, setOpen] = useState<{ readonly row: Row | undefined } | undefined>(undefined)
  const part = { onChanged: readings.reload, close: () => setOpen(undefined) }
  const create = (
    <Button {...(page && { kind: "primary" })} onClick={() => setOpen({ row: undefined })}>
      {t(`${family}.create`)}
    </Button>
  )
  const often = usual.find((name) => name === family)
  const text = t(`${family}.empty.text`)
  const empty = often ? (
    <EmptyState title={t(`${often}.empty.title`)} action={create}>
      {text}
    </EmptyState>
  ) : (
    <p className="quiet section-lead">{text}</p>
  )
  const actions: Column<Row> = {
    label: "",
    cell: (row) => <RowActions {...props} row={row} edit={() => setOpen({ row })} />,
  }
  const title = t(`${family}.title`)
  const list = (
    <Listing
      caption={title}
      with={readings}
      {...props}
      columns={[...columns, actions]}
      empty={empty}
      {...(!page && {
        frame: (content: ReactNode) => (
          <Section title={title} actions={create}>
            {content}
          </Section>
        ),
      })}
    />
  )
  return (
    <>
      {page ? (
        <PageFrame title={title} owner={page.owner} actions={create}>
          {page.lead && <p className="quiet section-lead">{page.lead}</p>}
          {list}
        </PageFrame>
      ) : (
        list
      )}
      {open && form(open.row, part)}
    </>
  )
}

type RowActionsProps<Row> = CollectionProps<Row> & { readonly row: Row; readonly edit: () => void }

function RowActions<Row>({ row, edit, ...props }: RowActionsProps<Row>) {
  const { family, readings, nameOf, isFixed, edits, turn, more, remove } = props
  const { t } = useHouse()
  if (isFixed?.(row)) return null
  const name = nameOf(row)
  const then = (act: () => Promise<unknown>) => async () => {
    await act()
    await readings.reload()
  }
  const isOn = turn?.isOn(row) ?? true
  return (
    <div className="row-actions">
      {more?.(row)}
      {edits !== false && (
        <Button small kind="plain" aria-label={`${t("action.edit")}: ${name}`} onClick={edit}>
          {t("action.edit")}
        </Button>
      )}
      {turn && (
        <ActionButton
          plain
          label={t(isOn ? "action.deactivate" : "action.activate")}
          act={then(() => turn.act(row, !isOn))}
        />
      )}
      <ConfirmButton
        label={t("action.remove")}
        what={name}
        consequence={t(`${family}.remove_text`)}
        act={then(() => remove(row))}
      />
    </div>
  )
}
