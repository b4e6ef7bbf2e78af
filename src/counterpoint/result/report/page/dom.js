/** Elements: built from text and attributes, never from markup, so that data stays data. */

/** Return an element; `on...` attributes are listeners, false and null leave an attribute out. */
export function h(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

/** Return an element of SVG. */
export function svg(tag, attributes = {}, ...children) {
  return filled(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined)
      element.setAttribute(name, value);
  }
  element.append(
    ...children.flat(Infinity).filter((child) => child !== null && child !== undefined),
  );
  return element;
}

/**
 * Put new children into an element. The focus stays on the control of the same id; where that is
 * gone, it goes to the part of the page around it, so that the keyboard does not start anew.
 */
export function fill(element, ...children) {
  const isInside = element !== document.activeElement && element.contains(document.activeElement);
  const focused = isInside ? document.activeElement.id : "";
  element.replaceChildren(...children.flat(Infinity).filter((child) => child !== null));
  if (!isInside) return;
  const again = focused ? document.getElementById(focused) : null;
  const around = element.closest("[tabindex]") ?? element.closest("section");
  if (!again && around && !around.hasAttribute("tabindex")) around.tabIndex = -1;
  (again ?? around)?.focus({ preventScroll: !again });
}
