import type { AnchorHTMLAttributes, ButtonHTMLAttributes } from "react"

export type ButtonKind = "primary" | "normal" | "danger" | "plain"

type Look = {
  readonly kind?: ButtonKind | undefined
  readonly wide?: boolean | undefined
  readonly small?: boolean | undefined
}

type ButtonProps = Look & Omit<ButtonHTMLAttributes<HTMLButtonElement>, "className">

/** Says what happens when it is pressed; a page has one `primary` at most. */
export function Button({ kind, wide, small, type = "button", ...rest }: ButtonProps) {
  return <button type={type} className={buttonClass({ kind, wide, small })} {...rest} />
}

type ButtonLinkProps = Look & Omit<AnchorHTMLAttributes<HTMLAnchorElement>, "className">

/** A link that is the step to take, and looks like one also where a router has its own class. */
export function ButtonLink({ kind, wide, small, ...rest }: ButtonLinkProps) {
  return <a {...rest} className={buttonClass({ kind, wide, small })} />
}

function buttonClass({ kind = "normal", wide, small }: Look): string {
  const names = ["button"]
  if (kind !== "normal") names.push(`button-${kind}`)
  if (wide) names.push("button-wide")
  if (small) names.push("button-small")
  return names.join(" ")
}
