import { createLink } from "@tanstack/react-router"
import { ButtonLink } from "../../kit/index.ts"

export { Link, type LinkOptions } from "@tanstack/react-router"

/** A link that is the step to take. */
export const LinkButton = createLink(ButtonLink)
