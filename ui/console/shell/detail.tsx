import { Fragment, type ReactNode } from "react"
import { CopyButton } from "../../kit/index.ts"
import { t } from "./text.ts"

type SectionProps = {
  readonly title: string
  readonly actions?: ReactNode
  readonly children: ReactNode
}

/** A section of its facts alone. */
export function FactsSection({ title, rows }: Pick<SectionProps, "title"> & FactsProps) {
  return (
    <Section title={title}>
      <Facts rows={rows} />
    </Section>
  )
}

export function Section({ title, actions, children }: SectionProps) {
  return (
    <section className="section">
      <div className="section-head">
        <h2>{title}</h2>
        {actions}
      </div>
      {children}
    </section>
  )
}

type Fact = readonly [string, ReactNode]

export type FactsProps = { readonly rows: readonly Fact[] }

/** An identifier, to be copied. */
export const copied = (label: string, value: string): Fact => [
  label,
  <Copyable key={label} value={value} what={label} />,
]

type ValueListProps = { readonly values: readonly string[]; readonly code?: true }

/** Several values, one a line; `code`: as programs spell them. */
export function ValueList({ values, code }: ValueListProps) {
  return (
    <ul className="value-list">
      {values.map((value) => (
        <li key={value}>{code ? <code>{value}</code> : <bdi>{value}</bdi>}</li>
      ))}
    </ul>
  )
}

/** Names and what they are; what is not there is not named. */
export function Facts({ rows }: FactsProps) {
  const said = rows.filter(([, value]) => value !== undefined && value !== "" && value !== false)
  return (
    <dl className="facts">
      {said.map(([label, value]) => (
        <Fragment key={label}>
          <dt>{label}</dt>
          <dd>{value}</dd>
        </Fragment>
      ))}
    </dl>
  )
}

type CopyableProps = { readonly value: string; readonly what: string }

/** An identifier with the button that copies it. */
export function Copyable({ value, what }: CopyableProps) {
  return (
    <span className="value">
      <code>{value}</code>
      <CopyButton
        kind="plain"
        value={value}
        label={t("copy.do")}
        done={t("copy.done")}
        what={what}
      />
    </span>
  )
}
