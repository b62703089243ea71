import type { DescMessage, DescMethod } from "@bufbuild/protobuf"
import type { ReactNode } from "react"
import { Button } from "../../kit/index.ts"
import { ConfirmButton, formId, type RenderForm, useOpen } from "../form/index.ts"
import { May, Page, Section, t, useMay } from "../shell/index.ts"
import { EmptyList } from "./empty-list.tsx"
import { type ListColumn, Listing, type ListingProps } from "./listing.tsx"

/** Each has a title, a word for making one, what it says when empty, and what removing means. */
type Family = (typeof usual)[number] | (typeof seldom)[number]

const usual = ["authorizations", "custom_roles", "groups", "roles"] as const

/** Most things do without these: an empty list says so in a line, and not what comes first. */
const seldom = [
  ...(["administrators", "domains", "email_providers", "grants", "group_users", "idps"] as const),
  ...(["executions", "metadata", "public_keys", "scripts", "sms_providers", "targets"] as const),
] as const

type CollectionProps<I extends DescMessage, O extends DescMessage, Row> = Pick<
  ListingProps<I, O, Row>,
  "method" | "ask" | "within" | "find" | "columns" | "keyOf" | "filters" | "filtered" | "unsearched"
> & {
  readonly family: Family
  readonly nameOf: (row: Row) => string
  /** The operations that make, change and remove one; nothing is changed where that isn't said. */
  readonly needs: Readonly<Record<"create" | "remove", DescMethod>> & { readonly edit?: DescMethod }
  /** What makes one where there is no row, else what changes it. */
  readonly form: (row: Row | undefined) => RenderForm
  /** What can be done with a row; all that is offered where nothing is said. */
  readonly isFixed?: (row: Row) => boolean
  /** Its `TurnButton`, where it can be turned off for a while. */
  readonly turn?: (row: Row, how: { readonly small: true; readonly what: string }) => ReactNode
  readonly more?: (row: Row) => ReactNode
  readonly remove: (row: Row) => Promise<unknown>
  /** It is a page of its own, of the organisation or of somebody else. */
  readonly page?: { readonly owner?: ReactNode; readonly lead?: string }
}

/** The one that is not there yet. */
const fresh = "+"

/** Things of one kind that hang from something: listed, made, changed and removed in one place. */
export function Collection<I extends DescMessage, O extends DescMessage, Row>(
  props: CollectionProps<I, O, Row>,
) {
  const { family, columns, page, keyOf, find, needs, ...list } = props
  const may = useMay()
  const [open, setOpen] = useOpen(family)
  const formFor = (row?: Row) => {
    const title = row === undefined ? t(`${family}.create`) : props.nameOf(row)
    const id = formId(family, row === undefined ? fresh : keyOf(row))
    const submit = row === undefined ? title : undefined
    return props.form(row)({ id, title, submit, close: () => setOpen(undefined) })
  }
  const create = may(needs.create) && (
    <Button {...(page && { kind: "primary" })} onClick={() => setOpen(fresh)}>
      {t(`${family}.create`)}
    </Button>
  )
  const often = usual.find((one) => one === family)
  const empty = often ? (
    <EmptyList family={often} action={create} />
  ) : (
    <p className="quiet section-lead">{t(`${family}.empty.text`)}</p>
  )
  const edit = (row: Row) => () => setOpen(keyOf(row))
  const actions: ListColumn<Row> = {
    label: "",
    cell: (row) => (
      <>
        <RowActions {...props} row={row} edit={edit(row)} />
        {open === keyOf(row) && formFor(row)}
      </>
    ),
  }
  const acts = [needs.remove, needs.edit].some((one) => one && may(one))
  const title = t(`${family}.title`)
  const listing = (
    <Listing
      {...list}
      keyOf={keyOf}
      find={find}
      empty={empty}
      caption={title}
      name={page ? "" : family}
      columns={acts || props.more ? [...columns, actions] : columns}
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
        <Page title={title} owner={page.owner} actions={create}>
          {page.lead && <p className="quiet section-lead">{page.lead}</p>}
          {listing}
        </Page>
      ) : (
        listing
      )}
      {open === fresh && formFor()}
    </>
  )
}

type RowActionsProps<I extends DescMessage, O extends DescMessage, Row> = CollectionProps<
  I,
  O,
  Row
> & { readonly row: Row; readonly edit: () => void }

function RowActions<I extends DescMessage, O extends DescMessage, Row>(
  props: RowActionsProps<I, O, Row>,
) {
  const { row, edit, family, nameOf, isFixed, needs, turn, more, remove } = props
  if (isFixed?.(row)) return null
  const name = nameOf(row)
  return (
    <div className="row-actions">
      {more?.(row)}
      {needs.edit && (
        <May needs={needs.edit}>
          <Button small kind="plain" aria-label={`${t("action.edit")}: ${name}`} onClick={edit}>
            {t("action.edit")}
          </Button>
        </May>
      )}
      {turn?.(row, { small: true, what: name })}
      <ConfirmButton
        small
        needs={needs.remove}
        what={name}
        consequence={t(`${family}.remove_text`)}
        act={() => remove(row)}
      />
    </div>
  )
}
