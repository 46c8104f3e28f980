"""A check as JUnit XML: a test case a rule, and one for each finding that counts."""

from xml.etree import ElementTree

from hitledger.check.findings import CheckFinding, Level
from hitledger.check.result import CheckResult
from hitledger.redact import visible
from hitledger_reports import check_figures

SUITE = "hitledger.check"


def render(result: CheckResult) -> str:
    """The document. Same result, same string."""
    findings = [one for one in result.all_findings if one.level is not Level.NOTE]
    failures = sum(not rule.passed for rule in result.rules) + sum(map(_fails, findings))
    root = ElementTree.Element("testsuites", name="hitledger")
    suite = ElementTree.SubElement(root, "testsuite")
    suite.attrib |= {
        "name": SUITE,
        "tests": str(len(result.rules) + len(findings)),
        "failures": str(failures),
        "errors": "0",
        "skipped": str(sum(one.known for one in findings)),
    }
    for rule in result.rules:
        case = _case(suite, rule.name, "rules")
        if not rule.passed:
            ElementTree.SubElement(case, "failure", message=str(rule), type=rule.name)
    for one in findings:
        case = _case(suite, f"{one.cause} {visible(check_figures.place_of(one))}", "findings")
        text = visible("\n".join(filter(None, (check_figures.explanation(one), one.before, one.after, one.fix))))
        if one.known:
            ElementTree.SubElement(case, "skipped", message="known finding")
        elif _fails(one):
            ElementTree.SubElement(case, "failure", message=visible(one.note or one.cause), type=one.cause).text = text
        else:
            ElementTree.SubElement(case, "system-out").text = text
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=False) + "\n"


def _case(suite: ElementTree.Element, name: str, group: str) -> ElementTree.Element:
    return ElementTree.SubElement(suite, "testcase", name=name, classname=f"{SUITE}.{group}")


def _fails(finding: CheckFinding) -> bool:
    return finding.level is Level.ERROR and not finding.known
